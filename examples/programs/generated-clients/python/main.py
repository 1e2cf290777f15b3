# Renders main.typ as PDF/A and as a ZIP of pages, and reads the problem of a request that contradicts itself.
import os
import pathlib

from openapi_client import ApiClient, ApiException, BadRequestProblem, Configuration, InvalidRequestProblem
from openapi_client import PdfOutput, PdfStandard, PngOutput, RenderingApi, RenderOutput, RenderRequest

token = {"apiToken": os.environ["SERVICE_API_TOKEN"]}
api = RenderingApi(ApiClient(Configuration(os.environ["SERVICE_URL"], api_key=token)))


def render(name: str, output: PdfOutput | PngOutput) -> None:
    source = pathlib.Path("main.typ").read_text(encoding="utf-8")
    request = RenderRequest(source=source, data={"name": "world"}, output=RenderOutput(output))
    try:
        pathlib.Path(name).write_bytes(api.render(request))
    except ApiException as error:
        problem = error.data.actual_instance if isinstance(error.data, BadRequestProblem) else error.data
        if not isinstance(problem, InvalidRequestProblem):
            raise
        print(problem.code, problem.context.rule)


render("document.pdf", PdfOutput(standards=[PdfStandard.A_MINUS_2B]))
render("pages.zip", PngOutput(format="png", archive="zip"))
render("contradiction.pdf", PdfOutput(version="1.4", standards=[PdfStandard.A_MINUS_2B]))
