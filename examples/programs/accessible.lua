-- A filter for pandoc: alternative texts of images and formulas, and the names of symbols in Typst 0.15.
local function quoted(text)
  return '"' .. text:gsub("%s+", " "):gsub('[\\"]', "\\%0") .. '"'
end

function Image(image)
  local alt = image.attributes.alt or pandoc.utils.stringify(image.caption)
  if alt == "" then return nil end
  local width = (image.attributes.width or ""):match("^[%d.]+[%a%%]+$") or "auto"
  local call = "#box(image(%s, width: %s, alt: %s))"
  return pandoc.RawInline("typst", call:format(quoted(image.src), width, quoted(alt)))
end

local circled = { emptyset = true, nothing = true, errorbar = true }
local stroked = { brace = true, bracket = true, paren = true }

local function renamed(formula)
  local texts, at = {}, 0
  local function keep(text) table.insert(texts, text) return '""' end
  formula = formula:gsub('\\"', "\1"):gsub('%b""', keep):gsub("%f[%a]sect%f[%A]", "inter"):gsub("%f[%a]alef%f[%A]", "aleph")
  formula = formula:gsub("(%a+)%.circle", function(base) return not circled[base] and base .. ".o" end)
  formula = formula:gsub("(%a+)(%.[lr])%.double", function(base, side) return stroked[base] and base .. side .. ".stroked" end)
  return (formula:gsub('""', function() at = at + 1 return texts[at] end):gsub("\1", '\\"'))
end

function Math(math)
  local typst = pandoc.write(pandoc.Pandoc(pandoc.Plain(math)), "typst")
  local formula, label = typst:match("^(%$.*%$)(.-)%s*$")
  if formula == nil then return nil end
  local alt = math.text:gsub("\\label{.-}", ""):gsub("\\%a+{equation%*?}", "")
  local call = "#math.equation(block: %s, alt: %s, %s)%s"
  local block = tostring(math.mathtype == "DisplayMath")
  return pandoc.RawInline("typst", call:format(block, quoted(alt), renamed(formula), label))
end
