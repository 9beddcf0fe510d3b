import type { Page } from 'playwright-core'
import { saveComparison } from '../../src/audit/compare/last-comparison.ts'
import { allowEverything, openGateway, type TestedGateway } from '../gateway/support/open-gateway.ts'
import { startRecordingUpstream } from '../gateway/support/recording-upstream.ts'

/** Starts a gateway with the console; its upstream fails to count rows. The caller must close it. */
export async function startSampleGateway(): Promise<TestedGateway> {
  const upstream = await startRecordingUpstream()
  upstream.handler = ({ target }, response) => {
    response.writeHead(target.includes('/count_rows') ? 500 : 200, { 'content-type': 'application/json' })
    response.end('{}')
  }
  const gateway = await openGateway(upstream.url, {
    users: ['analyst', 'etl'],
    policies: [
      allowEverything,
      {
        name: 'sales',
        namespace: ['prod', 'sales'],
        onDeny: 403,
        restrict: [
          {
            id: 'analysts-eu',
            subjects: { users: ['analyst'] },
            tables: ['customers'],
            columns: { id: 'number', 'person.city': 'text' },
            rows: "region = 'EU' and tenant in $principal.claims.tenants",
          },
        ],
        rules: [
          {
            id: 'writers',
            effect: 'allow',
            subjects: { users: ['etl'] },
            operations: ['read', 'create', 'write', 'commit'],
          },
          {
            id: 'analysts',
            effect: 'allow',
            subjects: { users: ['analyst'] },
            operations: ['read'],
            when: 'client.address != "192.0.2.7"',
          },
        ],
      },
    ],
    adjust: (settings) => ({ ...settings, admin: { ...settings.admin, console: true } }),
  })
  return {
    ...gateway,
    close: async () => {
      await gateway.close()
      await upstream.close()
    },
  }
}

/** Sends requests that are allowed, denied, without a credential, restricted, and one that fails, and finds a version past the gateway. */
export async function sendSampleRequests(gateway: TestedGateway): Promise<void> {
  for (const table of ['customers', 'orders', 'refunds']) {
    const path = `/v1/table/prod$sales$${table}`
    await gateway.post(`${path}/declare`, { as: 'etl', body: {} })
    await gateway.post(`${path}/describe`, { as: 'analyst', body: {} })
    await gateway.post(`${path}/drop`, { as: 'analyst', body: {} })
  }
  await gateway.post('/v1/table/prod$sales$customers/query', { as: 'analyst', body: { columns: ['ssn'] } })
  await gateway.get('/v1/namespace/$/list', { as: null })
  await gateway.post('/v1/table/prod$sales$orders/count_rows', { as: 'analyst', body: {} })
  await saveComparison(gateway.auditFolder, {
    time: new Date().toISOString(),
    tables: 35,
    versions: 1_204,
    unexplained: 1,
    found: [{ id: ['prod', 'sales', 'orders'], branch: 'main', version: 4, time: new Date().toISOString() }],
    problems: [],
  })
}

/** Shows a refusal, a change, and the rules and restrictions of a caller in full. */
export async function openConsole(page: Page, { adminUrl }: TestedGateway): Promise<void> {
  await page.goto(`${adminUrl}/console`)
  await page.getByText('no rule allows it').first().click()
  await page.getByText('allowed by sales/writers').first().click()
  await page.getByLabel('Object', { exact: true }).last().fill('prod/sales/customers')
  await page.getByLabel('Kind').selectOption('table')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('user analyst', { exact: true }).click()
  await page.getByText(/by sales\/analysts \(/).waitFor()
}

/** Shows an operation with a request and its response. */
export async function openDocs(page: Page, { url }: TestedGateway): Promise<void> {
  await page.goto(`${url}/docs#/table/DropTableIndex`)
  await page.getByRole('button', { name: 'Try it out' }).click()
  await page.getByRole('searchbox').fill('permission DropTable')
  await page.getByRole('button', { name: 'Execute' }).click()
  await page.getByText('Response headers').waitFor()
}
