-- Sends one kind of request, told by the environment, and prints what came of it as JSON in its last line.
-- BENCH_METHOD, BENCH_BODY_FILE, BENCH_CHUNKED (1), BENCH_TOKENS_FILE (a token a line, each sent in its turn),
-- BENCH_TABLES (how many tables are asked for in turn, in the place of the one that is named `small`).

local function read(file)
  local handle = assert(io.open(file, 'rb'))
  local text = handle:read('*a')
  handle:close()
  return text
end

local tokens_file = os.getenv('BENCH_TOKENS_FILE')
local tables = tonumber(os.getenv('BENCH_TABLES'))
local requests = {}
local turn = 0

-- wrk asks for every request anew only where there is such a function; else it makes one and sends it again.
if tokens_file or tables then
  function request()
    turn = turn % #requests + 1
    return requests[turn]
  end
end

local function in_chunks(body)
  local parts = {}
  for at = 1, #body, 65536 do
    local chunk = body:sub(at, at + 65535)
    parts[#parts + 1] = string.format('%x\r\n', #chunk) .. chunk .. '\r\n'
  end
  return table.concat(parts) .. '0\r\n\r\n'
end

local function add()
  local path = wrk.path
  if tables then path = path:gsub('%$small/', '$small-' .. #requests % tables .. '/') end
  requests[#requests + 1] = wrk.format(nil, path)
end

function init()
  wrk.method = os.getenv('BENCH_METHOD')
  local body_file = os.getenv('BENCH_BODY_FILE')
  if body_file then wrk.body = read(body_file) end
  if os.getenv('BENCH_CHUNKED') then
    local body = wrk.body
    wrk.body = nil
    wrk.headers['Transfer-Encoding'] = 'chunked'
    local whole = wrk.format() .. in_chunks(body)
    wrk.format = function() return whole end
  end
  if tokens_file then
    for token in read(tokens_file):gmatch('%S+') do
      wrk.headers['Authorization'] = 'Bearer ' .. token
      add()
    end
  elseif tables then
    for _ = 1, tables do add() end
  end
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"requests":%d,"microseconds":%d,"bytes":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
