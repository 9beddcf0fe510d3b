export interface RawResponse {
  readonly status: number
  /** Returns the value of a header; `name` is in lower case. */
  header(name: string): string | undefined
  readonly body: Buffer
}

export interface ParsedResponses {
  readonly responses: readonly RawResponse[]
  /** Bytes of these responses. */
  readonly length: number
}

/**
 * Parses the complete responses at the start of the bytes, to requests with these methods. Skips 1xx responses. Throws if
 * the bytes are not HTTP/1.1.
 */
export function parseResponses(bytes: Buffer, methods: readonly string[]): ParsedResponses {
  const responses: RawResponse[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end === -1) return { responses, length: at }
    const [first = '', ...lines] = bytes.toString('latin1', at, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? Number.NaN)
    if (Number.isNaN(status)) throw new Error(`malformed status line ${JSON.stringify(first)}`)
    const headers = new Map(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const hasNoBody = status < 200 || status === 204 || methods[responses.length] === 'HEAD'
    const body = hasNoBody ? { bytes: Buffer.alloc(0), next: end + 4 } : readBody(bytes, end + 4, headers)
    if (body === undefined) return { responses, length: at }
    if (status >= 200) responses.push({ status, header: (name) => headers.get(name), body: body.bytes })
    at = body.next
  }
}

/** Returns undefined if the body is incomplete. */
function readBody(bytes: Buffer, from: number, headers: ReadonlyMap<string, string>) {
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(bytes, from)
  const length = Number(headers.get('content-length') ?? Number.NaN)
  if (Number.isNaN(length)) throw new Error('a response without a length')
  return from + length > bytes.length
    ? undefined
    : { bytes: bytes.subarray(from, from + length), next: from + length }
}

function readChunks(bytes: Buffer, from: number) {
  const chunks: Buffer[] = []
  for (let at = from; ;) {
    const end = bytes.indexOf('\r\n', at)
    if (end === -1) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    const next = end + 2 + size + 2
    if (next > bytes.length) return undefined
    if (size === 0) return { bytes: Buffer.concat(chunks), next }
    chunks.push(bytes.subarray(end + 2, next - 2))
    at = next
  }
}
