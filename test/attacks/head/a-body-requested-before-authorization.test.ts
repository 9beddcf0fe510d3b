import { expect, it } from 'vitest'
import { sendRaw, rawRequest } from '../../gateway/support/raw-request.ts'
import { openRawConnection } from '../../gateway/support/raw-connection.ts'
import { expectError, type ExpectedError } from '../../gateway/support/expect-error.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// `Expect: 100-continue` asks whether a body is wanted. Continuing before authorization invites a body that will be
// refused; continuing after a refusal confuses the body with the next request.
const attacked = attackedGateway()
const describe = '/v1/table/sandbox$orders/describe'
const insert = '/v1/table/sandbox$orders/insert'
const smuggled = 'POST /v1/table/production/drop HTTP/1.1\r\nhost: g\r\ncontent-length: 0\r\n\r\n'

function head(target: string, lines: readonly string[]): string {
  return rawRequest([`POST ${target} HTTP/1.1`, 'host: g', 'expect: 100-continue', ...lines])
}

const key = (name: string): string => `x-api-key: ${attacked.gateway.key(name)}`
const refused: [label: string, target: string, user: string, lines: string[], ExpectedError][] = [
  ['no route', '/v1/nothing', 'writer', [], { kind: 'Unsupported', status: 406, says: 'unknown route' }],
  ['an unknown key', describe, 'guessed', [], { kind: 'Unauthenticated', says: 'x-api-key' }],
  [
    'no permission',
    '/v1/table/sandbox$o/drop',
    'writer',
    [],
    { kind: 'PermissionDenied', says: 'DropTable' },
  ],
  [
    'another content type',
    insert,
    'writer',
    ['content-type: text/plain'],
    { kind: 'InvalidInput', says: 'content-type' },
  ],
]

it.each(refused)('%s is refused before the body is requested', async (_label, target, user, lines, error) => {
  const bytes = head(target, [key(user), ...lines, `content-length: ${smuggled.length}`])
  for (const sent of [bytes, bytes + smuggled + smuggled]) {
    const responses = await sendRaw(attacked.gateway.url, sent)
    expect(responses).toHaveLength(1)
    expectError(responses[0], error)
    expect(responses[0]?.headers['connection']).toBe('close')
  }
  expect(attacked.upstream.requests).toEqual([])
})

it('does not request a body that exceeds the limit', async () => {
  const bytes = head(describe, [key('writer'), 'content-length: 99999999'])
  const [response] = await sendRaw(attacked.gateway.url, bytes)
  expectError(response, { kind: 'InvalidInput', status: 413, says: 'larger than' })
})

it.each([
  [describe, Buffer.from('{}')],
  [insert, arrowUpload],
])('requests a body for %s when it is needed', async (target, body) => {
  const connection = openRawConnection(attacked.gateway.url)
  connection.write(head(target, [key('writer'), `content-length: ${body.length}`, 'connection: close']))
  expect(await connection.waitFor(/\r\n\r\n/)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  connection.write(body)
  expect(await connection.waitForEnd()).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
  expect(await attacked.upstream.requests[0]?.body).toEqual(body)
})

it('accepts a body that is sent without waiting', async () => {
  const connection = openRawConnection(attacked.gateway.url)
  connection.write(`${head(describe, [key('writer'), 'content-length: 2', 'connection: close'])}{}`)
  expect(await connection.waitForEnd()).toMatch(/HTTP\/1\.1 200 OK\r\n/)
  expect(String(await attacked.upstream.requests[0]?.body)).toBe('{}')
})
