# Renders letter.typ with data.json, by Ruby 3.1 or later: `ruby render.rb`.
require "json"
require "net/http"
require "time"

url = URI("#{ENV.fetch("SERVICE_URL")}/v1/render")
request = Net::HTTP::Post.new(url)
request["Content-Type"] = "application/json"
request["X-Service-Api-Token"] = ENV.fetch("SERVICE_API_TOKEN")
request["Accept-Encoding"] = "identity"
source = File.read("letter.typ", encoding: "UTF-8")
data = JSON.parse(File.read("data.json", encoding: "UTF-8"))
request.body = JSON.generate(source: source, data: data)

# The seconds for which a 429 or 503 asks, as a number or a date; nil if it does not, and for a 408, which would only come again.
def retry_after(response)
  return unless %w[429 503].include?(response.code)
  value = response["Retry-After"] or return
  seconds = Integer(value, exception: false) || Time.httpdate(value) - Time.now
  seconds.clamp(0, 300)
rescue ArgumentError
  nil
end

1.step do |attempt|
  begin
    response = Net::HTTP.start(url.host, url.port, use_ssl: url.scheme == "https", read_timeout: 120) do |http|
      http.request(request)
    end
  rescue IOError, SystemCallError, Net::HTTPBadResponse => broken
    response = nil
  end
  # Net::HTTP takes a file for whole when the connection breaks in its middle.
  if response.is_a?(Net::HTTPOK) && response.body.to_s.b.rstrip.end_with?("%%EOF")
    File.binwrite("document.pdf", response.body)
    break
  end
  is_broken = response.nil? || response.is_a?(Net::HTTPOK)
  seconds = is_broken ? 1 : retry_after(response)
  if seconds && attempt < 5
    sleep(seconds)
  elsif is_broken
    abort "the connection broke: #{broken&.message}"
  else
    problem = JSON.parse(response.body) rescue {}
    problem = {} unless problem.is_a?(Hash)
    abort "#{problem["code"] || "not the service"}: #{problem["detail"] || response.code}"
  end
end
