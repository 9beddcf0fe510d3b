-- Sends one kind of request and prints the result as JSON in its last line. Environment: BENCH_METHOD, BENCH_BODY_FILE,
-- BENCH_TOKENS_FILE (a token a line, sent in turn), BENCH_TABLES (number of tables requested in turn, instead of `small`).

local function read(file)
  local handle = assert(io.open(file, 'rb'))
  local text = handle:read('*a')
  handle:close()
  return text
end

local tokens_file = os.getenv('BENCH_TOKENS_FILE')
local tables = tonumber(os.getenv('BENCH_TABLES'))
local requests = {}
local last = 0

-- Without this function, wrk formats one request and repeats it.
if tokens_file or tables then
  function request()
    last = last % #requests + 1
    return requests[last]
  end
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
    '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
