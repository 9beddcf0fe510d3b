import { rows } from '../conformance/sample-rows.ts'
import { secrets } from './places.ts'

/** What a client sends straight to the catalog: it is behind the gateway, and asks nobody. */
export interface PlantedCatalog {
  /** Everything about the forbidden part that could have been changed: names, descriptions, versions and rows. */
  forbiddenPart(): Promise<unknown>
}

const forbidden = ['production$orders', `production$${secrets.table}`]

/** Makes what the attacker may use, and beside it what must stay unread and unchanged. */
export async function plantCatalog(url: string): Promise<PlantedCatalog> {
  const send = async (target: string, body?: object | Uint8Array): Promise<Buffer> => {
    const isBytes = body instanceof Uint8Array
    const response = await fetch(url + target, {
      method: 'POST',
      ...(body !== undefined && { body: isBytes ? Buffer.from(body) : JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${target} is answered ${response.status} ${await response.text()}`)
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
  for (const id of ['sandbox$orders', 'sandbox$events', 'sandbox$inner$orders', 'orders', ...forbidden]) {
    await send(`/v1/table/${id}/create`, rows(3))
  }
  return {
    async forbiddenPart() {
      const tables = forbidden.map(async (id) => ({
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
