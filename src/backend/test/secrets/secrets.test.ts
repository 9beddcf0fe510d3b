import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { secretsKey } from '../support/secrets-key.ts'
import { errorOf, responseOf, runningBackend } from '../support/running-backend.ts'

it('a secret is created, described, altered, listed and dropped', async () => {
  const { post, get } = await runningBackend(await secretsKey())
  await post('/v1/namespace/a/create', {})
  expect(await post('/v1/secret/a$token/create', { value: 'one' })).toEqual(responseOf({}))
  const created = await post('/v1/secret/a$token/describe')
  const { created_at_millis: time } = created.json as { created_at_millis: number }
  expect(created).toEqual(responseOf({ name: 'token', created_at_millis: time, updated_at_millis: time }))
  await setTimeout(2)
  expect(await post('/v1/secret/a$token/alter', { value: 'two' })).toEqual(responseOf({}))
  const { json } = await post('/v1/secret/a$token/describe')
  expect(json).toMatchObject({ created_at_millis: time })
  expect((json as { updated_at_millis: number }).updated_at_millis).toBeGreaterThan(time)
  expect(await get('/v1/namespace/a/secret/list')).toEqual(responseOf({ secrets: [{ name: 'token' }] }))
  expect(await get('/v1/namespace/$/secret/list')).toEqual(responseOf({ secrets: [] }))
  expect(await post('/v1/secret/a$token/create', { value: 'x' })).toEqual(errorOf('TableAlreadyExists'))
  expect(await post('/v1/secret/a$token/drop')).toEqual(responseOf({}))
  for (const [operation, body] of [['alter', { value: 'x' }], ['describe'], ['drop']] as const)
    expect(await post(`/v1/secret/a$token/${operation}`, body)).toEqual(errorOf('TableNotFound'))
})

it('are listed page by page', async () => {
  const { post, get } = await runningBackend(await secretsKey())
  for (const name of ['b', 'é', 'Z'])
    await post(`/v1/secret/${encodeURIComponent(name)}/create`, { value: 'x' })
  const list = (query: string) => get(`/v1/namespace/$/secret/list?${query}`)
  expect(await list('limit=2')).toEqual(
    responseOf({ secrets: [{ name: 'Z' }, { name: 'b' }], page_token: 'b' }),
  )
  expect(await list('limit=2&page_token=b')).toEqual(responseOf({ secrets: [{ name: 'é' }] }))
  expect(await list('limit=0')).toMatchObject({ json: { secrets: [], page_token: expect.any(String) } })
})

it('without a key, no value is accepted, and the rest works', async () => {
  const key = await secretsKey()
  const { dataFolder, stop, post } = await runningBackend(key)
  await post('/v1/secret/token/create', { value: 'x' })
  await stop()
  const keyless = await runningBackend({}, dataFolder)
  for (const request of ['other/create', 'token/create', 'token/alter']) {
    const refused = await keyless.post(`/v1/secret/${request}`, { value: 'y' })
    expect(refused).toEqual(errorOf('Unsupported'))
    expect(refused.json).toMatchObject({ error: expect.stringContaining('set secrets.keyFile') })
  }
  expect(await keyless.get('/v1/namespace/$/secret/list')).toEqual(
    responseOf({ secrets: [{ name: 'token' }] }),
  )
  expect(await keyless.post('/v1/secret/token/describe')).toMatchObject({ json: { name: 'token' } })
  expect(await keyless.post('/v1/secret/token/drop')).toEqual(responseOf({}))
})

it.each([
  ['31 bytes', 'x'.repeat(31), /has 31 bytes; expected at least 32/],
  ['nothing', '', /the file is empty/],
  ['two lines', `${'x'.repeat(32)}\ny`, /without control characters/],
])('a key file with %s is refused at start', async (_name, key, message) => {
  await expect(runningBackend(await secretsKey(key))).rejects.toThrow(message)
})

it.each([
  ['a function', 'function', { artifact: {}, signature: {} }],
  ['a secret', 'secret', { value: 'x' }],
])('a namespace with %s is not empty, and a cascade removes it', async (_name, kind, body) => {
  const { post, get } = await runningBackend(await secretsKey())
  for (const name of ['a', 'a$b']) await post(`/v1/namespace/${name}/create`, {})
  expect((await post(`/v1/${kind}/a$b$x/create`, body)).status).toBeLessThan(300)
  expect(await post('/v1/namespace/a$b/drop', {})).toEqual(errorOf('NamespaceNotEmpty'))
  expect(await post('/v1/namespace/a$b/create', { mode: 'Overwrite' })).toEqual(errorOf('NamespaceNotEmpty'))
  expect(await post('/v1/namespace/a/drop', { behavior: 'Cascade' })).toEqual(responseOf({ properties: {} }))
  for (const name of ['a', 'a$b']) await post(`/v1/namespace/${name}/create`, {})
  expect(await get(`/v1/namespace/a$b/${kind}/list`)).toEqual(responseOf({ [`${kind}s`]: [] }))
})
