import { join } from 'node:path'
import { expect, it } from 'vitest'
import { recordsOf } from '../audit/audit-fixtures.ts'
import { servers, type TestedServer } from '../gateway/support/servers.ts'
import { linesOf, servingGateway } from './serving-gateway.ts'
import { eventually } from '../support/eventually.ts'
import { everyInTheLongForm } from '../support/thorough.ts'

/** Times, keys and chains of a run; bytes of heads, which each protocol encodes in its own way. */
const changing: ReadonlySet<string> = new Set(
  'time at pid hostname credentialId policyRevision revision hash prev chain seq bytesIn bytesOut'.split(' '),
)

function withoutChanging(record: object): unknown {
  const text = JSON.stringify(record, (name, value: unknown) =>
    changing.has(name) || /[mM]s$/.test(name) ? undefined : value,
  )
  return JSON.parse(text)
}

/** What the gateway reports of some requests: log lines, series of metrics, and audit records. */
async function reportsOver(server: TestedServer): Promise<object> {
  const gateway = await servingGateway({ listen: { port: 0, ...server.listen } })
  const client = server.connect(new URL(gateway.url).origin)
  const send = async (operation: string, as: string | undefined, body = '{}'): Promise<number> => {
    const key = as === undefined ? undefined : gateway.key(as)
    const { statusCode, body: response } = await client.request({
      method: 'POST',
      path: `/v1/table/sales$orders/${operation}`,
      headers: {
        'content-type': 'application/json',
        'x-request-id': `${operation}-${as ?? 'none'}`,
        ...(key !== undefined && { 'x-api-key': key }),
      },
      body,
    })
    await response.toArray()
    return statusCode
  }
  const statuses = [
    await send('describe', 'dev'),
    await send('update', 'dev', '{"updates":[]}'),
    await send('drop', 'nobody'),
    await send('describe', undefined),
    await send('describe', 'dev', '{"id":["other"]}'),
    await send('nothing', 'dev'),
  ]
  // A request is counted after its response is sent.
  const metrics = await eventually(async () => {
    const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    const counts = [...text.matchAll(/^catalog_gateway_requests_total.* (\d+)$/gm)]
    expect(counts.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(statuses.length)
    return text
  })
  await client.destroy()
  const log = await gateway.stop()
  return {
    statuses,
    metrics: metrics.match(/^catalog_gateway_(?:requests|refusals)_total.*$/gm),
    lines: linesOf(log)
      .filter(({ msg }) => msg === 'request completed')
      .map(withoutChanging),
    records: (await recordsOf(join(gateway.folder, 'audit')))
      .filter((record) => 'request' in record)
      .map(withoutChanging),
  }
}

it('reports the same requests alike over each server', async () => {
  const [own, ...others] = await Promise.all(
    everyInTheLongForm(Object.values<TestedServer>(servers), 2).map(reportsOver),
  )
  expect(others.length).toBeGreaterThan(0)
  expect(own).toMatchObject({ statuses: [200, 200, 403, 401, 400, 406] })
  for (const [index, other] of others.entries()) expect(other, String(index)).toEqual(own)
})
