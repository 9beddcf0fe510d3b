import { Client } from 'undici'

/** Describes a table `count` times in sequence, over one connection. */
export async function describeTables(url: string, key: string, count: number) {
  const client = new Client(url)
  const statuses = new Map<number, number>()
  const milliseconds: number[] = []
  try {
    for (let index = 0; index < count; index += 1) {
      const start = performance.now()
      const { statusCode, body } = await client.request({
        method: 'POST',
        path: '/v1/table/o/describe',
        headers: { 'x-api-key': key },
        body: '{}',
      })
      await body.dump()
      milliseconds.push(performance.now() - start)
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
    }
  } finally {
    await client.close()
  }
  return { statuses, milliseconds }
}
