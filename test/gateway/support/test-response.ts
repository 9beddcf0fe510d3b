export interface TestResponse {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly bytes: Buffer
  /** Undefined if it is not JSON. */
  readonly json: unknown
}

export function createTestResponse(
  status: number,
  headers: TestResponse['headers'],
  bytes: Buffer,
): TestResponse {
  const isJson = bytes.length > 0 && headers['content-type'] === 'application/json'
  return { status, headers, bytes, json: isJson ? JSON.parse(bytes.toString()) : undefined }
}
