import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { errorOf, responseOf, runningBackend } from '../support/running-backend.ts'

/** Text that PostgreSQL cannot compress. */
const randomText = (bytes: number) => randomBytes(bytes).toString('base64url').slice(0, bytes)

it('an id that PostgreSQL cannot index is refused, and 2,600 bytes always fit', async () => {
  const { post, get } = await runningBackend()
  const parent = randomText(1300)
  expect((await post(`/v1/namespace/${parent}/create`, {})).status).toBe(200)
  expect((await post(`/v1/table/${parent}$${randomText(1299)}/declare`, {})).status).toBe(200)
  for (const target of [
    `namespace/${randomText(4096)}/create`,
    `table/${parent}$${randomText(2700)}/declare`,
  ]) {
    const refused = await post(`/v1/${target}`, {})
    expect(refused).toEqual(errorOf('InvalidInput'))
    expect(refused.json).toMatchObject({ error: expect.stringContaining('at most 2,600 bytes') as string })
  }
  expect(await get('/v1/namespace/$/list')).toEqual(responseOf({ namespaces: [parent] }))
})
