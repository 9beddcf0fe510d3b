import { expect, it, onTestFinished } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { expectError } from '../support/expect-error.ts'
import { gravitinoPath, serveAsGravitino } from '../support/gravitino-upstream.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { listNames, readPages } from '../support/read-pages.ts'
import { startRecordingUpstream } from '../support/recording-upstream.ts'
import { startGatewayBefore } from '../support/running-gateway.ts'

const tables = Array.from({ length: 23 }, (_, index) => `${index % 3 === 0 ? 'hidden' : 'shown'}_${index}`)
const shown = tables.filter((name) => name.startsWith('shown')).toSorted()
const listing = '/v1/namespace/lake$sales/table/list'

/** Starts a gateway in front of Gravitino; `ann` may see the tables whose names begin with `shown`. */
async function startGateway() {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  upstream.answering = serveAsGravitino(tables)
  const url = upstream.url + gravitinoPath
  const gateway = await startGatewayBefore(url, {
    users: ['ann'],
    policies: [
      allowEverything,
      policyOf(
        ['lake', 'sales'],
        [ruleFor(['ann'], ['ListTables']), ruleFor(['ann'], ['DescribeTable'], { tables: ['shown*'] })],
      ),
    ],
  })
  return gateway
}

it('lists every visible table once over the offset tokens of Gravitino, in pages of any size', async () => {
  const gateway = await startGateway()
  for (const limit of [1, 2, 7, 100]) {
    const pages = await readPages(gateway, listing, { as: 'ann', limit })
    expect(listNames(pages)).toEqual(shown)
    for (const { names, token } of pages) {
      expect(names.length).toBeLessThanOrEqual(limit)
      // An offset would count hidden tables.
      if (token !== undefined) expect(token).not.toMatch(/^\d+$/)
    }
  }
  const everything = await readPages(gateway, listing, { as: 'dev', limit: 5 })
  expect(listNames(everything)).toEqual(tables.toSorted())
})

it('forwards the code and the first line of an error, without stack trace and addresses', async () => {
  const gateway = await startGateway()
  const response = await gateway.post('/v1/table/lake$sales$shown_1/describe', { body: {} })
  expectError(response, { kind: 'TableNotFound', says: /^Table not found: lake\$sales\$shown_1 in/ })
  expect(Object.keys(response.json as object).toSorted()).toEqual(['code', 'error', 'instance'])
  expect(response.bytes.toString()).not.toMatch(/java|gravitino|NoSuchTable|metastore|warehouse/i)
})
