/** An answer as it came over the wire. */
export interface RawResponse {
  readonly status: number
  /** The value of a header, by its name in lower case. */
  header(name: string): string | undefined
  readonly body: Buffer
}

/** Answers that are whole, and how many bytes of what came they take. */
export interface RawResponses {
  readonly answers: readonly RawResponse[]
  readonly length: number
}

/** The whole answers at the start of these bytes, to requests of these methods. Throws for what is no HTTP. */
export function readResponses(bytes: Buffer, methods: readonly string[]): RawResponses {
  const responses: RawResponse[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end === -1) return { answers: responses, length: at }
    const [first = '', ...lines] = bytes.toString('latin1', at, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? Number.NaN)
    if (Number.isNaN(status)) throw new Error(`no answer begins with ${JSON.stringify(first)}`)
    const headers = new Map(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const isBare = status < 200 || status === 204 || methods[responses.length] === 'HEAD'
    const body = isBare ? { bytes: Buffer.alloc(0), next: end + 4 } : bodyAt(bytes, end + 4, headers)
    if (body === undefined) return { answers: responses, length: at }
    if (status >= 200) responses.push({ status, header: (name) => headers.get(name), body: body.bytes })
    at = body.next
  }
}

function bodyAt(bytes: Buffer, from: number, headers: ReadonlyMap<string, string>) {
  if (headers.get('transfer-encoding') === 'chunked') return chunksAt(bytes, from)
  const length = Number(headers.get('content-length') ?? Number.NaN)
  if (Number.isNaN(length)) throw new Error('an answer does not say how long it is')
  return from + length > bytes.length
    ? undefined
    : { bytes: bytes.subarray(from, from + length), next: from + length }
}

function chunksAt(bytes: Buffer, from: number) {
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
