// Renders main.typ as PDF/A and as a ZIP of pages, and reads the problem of a request that contradicts itself.
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.RenderingApi;
import org.openapitools.client.model.*;

class Main {
  static final ApiClient client = new ApiClient();

  public static void main(String[] args) throws ApiException, IOException {
    String token = System.getenv("SERVICE_API_TOKEN");
    client.updateBaseUri(System.getenv("SERVICE_URL"));
    client.setRequestInterceptor(request -> request.header("X-Service-Api-Token", token));
    var pdf = new PdfOutput().standards(List.of(PdfStandard.A_2B));
    var pages = new PngOutput().format(PngOutput.FormatEnum.PNG).archive(PngOutput.ArchiveEnum.ZIP);
    var contradiction = new PdfOutput().version(PdfOutput.VersionEnum._1_4).standards(List.of(PdfStandard.A_2B));
    render("document.pdf", new RenderOutput(pdf));
    render("pages.zip", new RenderOutput(pages));
    render("contradiction.pdf", new RenderOutput(contradiction));
  }

  static void render(String name, RenderOutput output) throws ApiException, IOException {
    String source = Files.readString(Path.of("main.typ"));
    var request = new RenderRequest().source(source).data(Map.of("name", "world")).output(output);
    try {
      Files.copy(new RenderingApi(client).render(request).toPath(), Path.of(name));
    } catch (ApiException error) {
      if (error.getCode() != 400) throw error;
      var problem = client.getObjectMapper().readValue(error.getResponseBody(), BadRequestProblem.class);
      if (!(problem.getActualInstance() instanceof InvalidRequestProblem invalid)) throw error;
      System.out.println(invalid.getCode() + " " + invalid.getContext().getRule());
    }
  }
}
