/** An answer of the gateway. */
export interface TestResponse {
  readonly status: number
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly bytes: Buffer
  /** Undefined where it is not JSON. */
  readonly json: unknown
}

/** An answer that was read to its end. */
export function createTestResponse(
  status: number,
  headers: TestResponse['headers'],
  bytes: Buffer,
): TestResponse {
  const isJson = bytes.length > 0 && headers['content-type'] === 'application/json'
  return { status, headers, bytes, json: isJson ? JSON.parse(bytes.toString()) : undefined }
}
