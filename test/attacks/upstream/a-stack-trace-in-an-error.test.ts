import { expect, it } from 'vitest'
import { errorCodes } from '../../../src/catalog-api/catalog-error.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'

// Error messages of an upstream may reveal its implementation and file paths.
const shared = useSharedGateway()
const list = '/v1/namespace/$/list'
const targets = ['/v1/table/t/describe', '/v1/table/t/drop']

async function messagesOf(error: string, status = 400, code = 13): Promise<string[]> {
  const { gateway, upstream } = shared
  upstream.handler = respondWith(status, { error, code, detail: error, stack: error })
  const responses = [await gateway.get(list)]
  for (const target of targets) responses.push(await gateway.post(target))
  return responses.map(({ status: responded, json }) => {
    expect(responded).toBe(status)
    expect(Object.keys(json as object).toSorted()).toEqual(['code', 'error', 'instance'])
    return (json as { error: string }).error
  })
}

it.each([
  [
    'a stack of Java',
    'Table t is locked\n\tat org.lance.Catalog.drop(Catalog.java:10)\n\tat java.base/x.Y(Z.java:1)',
    'Table t is locked',
  ],
  [
    'a stack on one line',
    'Table t is locked at org.lance.Catalog.drop(Catalog.java:10)',
    'Table t is locked',
  ],
  ['Windows lines', 'no such column\r\nCaused by: C:\\srv\\x', 'no such column'],
  ['other line ends', 'no such column\u2028/srv/data', 'no such column'],
  ['a file', 'not found: file:///srv/data/t.lance, version 3', 'not found: [path], version 3'],
  ['a file of Java', 'not found: file:/srv/data/t.lance', 'not found: file:[path]'],
  ['a path', "cannot open '/srv/data/t.lance/_versions/1.manifest'", "cannot open '[path]'"],
  ['a short path', 'cannot open /data: denied', 'cannot open [path] denied'],
  ['a path in brackets', 'Traceback (/srv/catalog/server.ts:10)', 'Traceback ([path])'],
  ['a place in sources', 'invalid, rust/lance-io/src/object_store.rs:12:3', 'invalid, [path]'],
  ['one file of sources', 'invalid (dir.rs:1441:23)', 'invalid ([path])'],
  ['an object', 'no object data/t.lance/_versions/1.manifest', 'no object [path]'],
  ['a bucket', 'denied: s3://bucket/t.lance?sig=1', 'denied: [path]'],
  ['a drive', 'cannot open C:\\srv\\data\\t.lance now', 'cannot open [path] now'],
  ['a share', 'cannot open \\\\host\\data now', 'cannot open [path] now'],
])('%s does not reach the caller', async (_label, error, expected) => {
  expect(await messagesOf(error)).toEqual([expected, expected, expected])
})

it.each([
  'column "a/b" is no application/json, and/or 1 / 2 of N/A',
  'the table sales$eu.orders has no version 7: expected 3 <= v <= 5',
  'ungültig: тест',
  'sql parser error: unexpected token: "x", signature: f(a, b)',
])('%s is forwarded unchanged', async (error) => {
  expect(await messagesOf(error)).toEqual([error, error, error])
})

it('credentials do not reach the caller either', async () => {
  const said =
    'Bearer abc, or s3://key:hidden@bucket, or password=hidden was not accepted; unexpected token: x'
  const shown = 'Bearer [redacted], or [path], or password=[redacted] was not accepted; unexpected token: x'
  expect(await messagesOf(said)).toEqual([shown, shown, shown])
})

it('replaces a message without other content or without an end', async () => {
  const none = 'the upstream refused the request with status 400'
  expect(await messagesOf('\n\tat a.b.C(D.java:1)')).toEqual([none, none, none])
  for (const message of await messagesOf('x '.repeat(20_000))) expect(message.length).toBeLessThan(600)
})

it.each(Object.entries(errorCodes).filter(([, { status }]) => status < 500 && status !== 401))(
  'for every error, for example %s',
  async (_name, { code, status }) => {
    for (const message of await messagesOf('no\n\tat /srv/data/x.rs', status, code)) {
      expect(message).not.toMatch(/srv|\tat/)
    }
  },
)
