// Renders main.typ as PDF/A and as a ZIP of pages, and reads the problem of a request that contradicts itself.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	withToken := func(_ context.Context, request *http.Request) error {
		request.Header.Set("X-Service-Api-Token", os.Getenv("SERVICE_API_TOKEN"))
		return nil
	}
	client, err := NewClientWithResponses(os.Getenv("SERVICE_URL"), WithRequestEditorFn(withToken))
	if err != nil {
		log.Fatal(err)
	}
	zip, version, standards := PngOutputArchiveZip, PdfOutputVersionN14, []PdfStandard{PdfStandardA2b}
	var pdf, pages, contradiction RenderOutput
	pdf.FromPdfOutput(PdfOutput{Standards: &standards})
	pages.FromPngOutput(PngOutput{Format: PngOutputFormatPng, Archive: &zip})
	contradiction.FromPdfOutput(PdfOutput{Version: &version, Standards: &standards})
	render(client, "document.pdf", pdf)
	render(client, "pages.zip", pages)
	render(client, "contradiction.pdf", contradiction)
}

func render(client *ClientWithResponses, name string, output RenderOutput) {
	source, err := os.ReadFile("main.typ")
	if err != nil {
		log.Fatal(err)
	}
	request := RenderRequest{Source: string(source), Data: map[string]string{"name": "world"}, Output: &output}
	answer, err := client.RenderWithResponse(context.Background(), request)
	if err != nil {
		log.Fatal(err)
	}
	if answer.StatusCode() == http.StatusOK {
		if err := os.WriteFile(name, answer.Body, 0o644); err != nil {
			log.Fatal(err)
		}
		return
	}
	if answer.ApplicationproblemJSON400 == nil {
		log.Fatal(answer.Status())
	}
	problem, err := answer.ApplicationproblemJSON400.ValueByDiscriminator()
	if err != nil {
		log.Fatal(err)
	}
	if invalid, ok := problem.(InvalidRequestProblem); ok && invalid.Context.Rule != nil {
		fmt.Println(invalid.Code, *invalid.Context.Rule)
	}
}
