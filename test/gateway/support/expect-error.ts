import { tmpdir } from 'node:os'
import { expect } from 'vitest'
import { errorCodes, type ErrorName } from '../../../src/catalog-api/catalog-error.ts'
import type { TestResponse } from './test-response.ts'

export interface ExpectedError {
  readonly kind: ErrorName
  /** The default is that of the code. */
  readonly status?: number
  /** Expected in the message. */
  readonly says: RegExp | string
  /** Expected in the detail. */
  readonly detail?: string
}

/** Implementation details: stack traces, files, codes of libraries, keys. */
const inside = /\n|\(\S+:\d+\)|\.[jt]s\b|node:|node_modules|ECONN|UND_ERR|HPE_|cgk_/

/** Asserts that a change which may have been done got an error that no client repeats. */
export function expectUnknownOutcome(response: TestResponse | undefined, says: RegExp | string): void {
  expectError(response, { kind: 'Internal', status: 424, says })
  expectError(response, {
    kind: 'Internal',
    status: 424,
    says: /; the change may have been done: look before sending it again$/,
  })
}

/** Asserts that an error has the format of the interface, the expected message, and no implementation details. */
export function expectError(response: TestResponse | undefined, expected: ExpectedError): void {
  const { kind, status, says } = expected
  const requestId = response?.headers['x-request-id']
  expect(response).toMatchObject({
    status: status ?? errorCodes[kind].status,
    headers: { 'content-type': 'application/json' },
  })
  expect(requestId).toMatch(/^[A-Za-z0-9._-]{1,128}$/)
  const { detail = '', ...body } = { ...(response?.json as { error: string; detail?: string }) }
  expect(body).toEqual({
    error: expect.stringMatching(says),
    code: errorCodes[kind].code,
    instance: requestId,
  })
  expect(detail).toContain(expected.detail ?? '')
  for (const text of [body.error, detail]) {
    expect(text).not.toMatch(inside)
    expect(text).not.toContain(tmpdir())
  }
}
