import { rows } from '../conformance/sample-rows.ts'
import { secrets } from './test-objects.ts'

export interface PreparedCatalog {
  /** Reads names, descriptions, versions and rows of the forbidden objects, past the gateway. */
  readonly readForbiddenObjects: () => Promise<unknown>
}

const forbiddenTables = ['production$orders', `production$${secrets.table}`]

/** Creates the objects that the attacker may and may not access, past the gateway. */
export async function prepareCatalog(url: string): Promise<PreparedCatalog> {
  const send = async (target: string, body?: object | Uint8Array): Promise<Buffer> => {
    const isBytes = body instanceof Uint8Array
    const response = await fetch(url + target, {
      method: 'POST',
      ...(body !== undefined && { body: isBytes ? Buffer.from(body) : JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${target}: status ${response.status} ${await response.text()}`)
    return Buffer.from(await response.arrayBuffer())
  }
  const read = async (target: string): Promise<unknown> => (await fetch(url + target)).json()
  for (const id of [
    'sandbox',
    'sandbox$inner',
    'production',
    'production$inner',
    `production$${secrets.namespace}`,
  ]) {
    await send(`/v1/namespace/${id}/create`, {
      properties: { note: id.startsWith('p') ? secrets.property : 'open' },
    })
  }
  for (const id of [
    'sandbox$orders',
    'sandbox$events',
    'sandbox$people',
    'sandbox$inner$orders',
    'orders',
    ...forbiddenTables,
  ]) {
    await send(`/v1/table/${id}/create`, rows(3))
  }
  return {
    async readForbiddenObjects() {
      const tables = forbiddenTables.map(async (id) => ({
        described: JSON.parse(
          String(await send(`/v1/table/${id}/describe`, { load_detailed_metadata: true })),
        ) as unknown,
        versions: JSON.parse(String(await send(`/v1/table/${id}/version/list`))) as unknown,
        rows: (await send(`/v1/table/${id}/query`, { k: 100, vector: { single_vector: [] } })).toString(
          'base64',
        ),
      }))
      return {
        tables: await Promise.all(tables),
        listed: await Promise.all(
          [
            'namespace/production/list',
            'namespace/production/table/list',
            'namespace/$/list',
            'namespace/$/table/list',
          ].map((path) => read(`/v1/${path}`)),
        ),
        properties: JSON.parse(
          String(await send(`/v1/namespace/production$${secrets.namespace}/describe`)),
        ) as unknown,
      }
    },
  }
}
