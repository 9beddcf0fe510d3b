import { expect, it } from 'vitest'
import { secretsKey } from '../support/secrets-key.ts'
import { errorOf, responseOf, runningBackend } from '../support/running-backend.ts'

const artifact = {
  kind: 'python_callable',
  digest: 'sha256:0',
  entrypoint: 'double',
  adapter: { kind: 'scalar_to_arrow_batch', version: 1 },
}
const content = { encoding: 'base64', data: 'ZGVm' }
const signature = {
  inputs: [{ name: 'id', arrow_type: 'int64', nullable: false }],
  output: { kind: 'scalar', arrow_type: 'int64', nullable: false },
}
const runtime = { kind: 'python', python_version: '3.12', environment: { kind: 'pip' }, env: { MODE: 'x' } }
const sent = { artifact: { ...artifact, content }, signature, runtime }

type Running = Awaited<ReturnType<typeof runningBackend>>

async function create({ post }: Running, name: string, body: object = sent) {
  const { status, json } = await post(`/v1/function/${name}/create`, body)
  expect(status).toBe(202)
  const { job_id: jobId } = json as { job_id: string }
  return (await post('/v1/jobs/describe', { job_id: jobId })).json as Record<string, unknown>
}

it('a function is created by a finished job, described as it was sent, listed and dropped', async () => {
  const backend = await runningBackend()
  const { post, get } = backend
  await post('/v1/namespace/a/create', {})
  const described = {
    name: 'double',
    namespace_path: ['a'],
    object_id: expect.stringMatching(/^[\da-f]{32}$/) as string,
    location: '',
    version: '1',
    image: { manifest_digest: '', descriptor: {}, source: false },
    artifact,
    signature,
    runtime,
    created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    created_at_millis: expect.any(Number) as number,
    metadata: {},
    disabled: false,
  }
  expect(await create(backend, 'a$double')).toMatchObject({
    job_type: 'CreateFunction',
    job_state: 'DONE',
    spec: { name: 'double', version: '1' },
    result: described,
  })
  expect(await post('/v1/function/a$double/describe', { version: '1' })).toEqual(
    responseOf({ ...described, artifact: { ...artifact, content } }),
  )
  expect(await get('/v1/namespace/a/function/list')).toEqual(
    responseOf({ functions: [{ name: 'double', version: '1' }] }),
  )
  expect(await get('/v1/namespace/a/function/list?include_definition=true')).toEqual(
    responseOf({ functions: [{ name: 'double', version: '1', definition: described }] }),
  )
  expect(await post('/v1/function/a$double/drop', { version: '1' })).toEqual(responseOf({ dropped: true }))
  expect(await post('/v1/function/a$double/drop', { version: '1' })).toEqual(responseOf({ dropped: false }))
  expect(await get('/v1/namespace/a/function/list')).toEqual(responseOf({ functions: [] }))
})

it('creating it again adds a version; dropping one version drops all', async () => {
  const backend = await runningBackend()
  const { post, get } = backend
  const first = await create(backend, 'f')
  const second = await create(backend, 'f', { artifact: {}, signature: {} })
  const { object_id: objectId } = first['result'] as Record<string, unknown>
  expect(second['result']).toMatchObject({ version: '2', object_id: objectId, artifact: {}, signature: {} })
  expect(await post('/v1/function/f/describe', { version: '1' })).toMatchObject({ json: { signature } })
  expect(await post('/v1/function/f/drop', { version: '3' })).toEqual(errorOf('TableNotFound'))
  expect(await post('/v1/function/f/drop', { version: '1' })).toEqual(responseOf({ dropped: true }))
  expect(await get('/v1/namespace/$/function/list')).toEqual(responseOf({ functions: [] }))
  const third = await create(backend, 'f')
  expect(third['result']).toMatchObject({
    version: '1',
    object_id: expect.not.stringMatching(String(objectId)),
  })
})

it.each([
  ['a missing function', 'g', '1'],
  ['a missing version', 'f', '2'],
  ['a version that is no number', 'f', 'v1'],
  ['a version with zeros', 'f', '01'],
  ['a version above the integers', 'f', '18446744073709551615'],
  ['the version 0', 'f', '0'],
])('%s is not found', async (_name, name, version) => {
  const backend = await runningBackend()
  await create(backend, 'f')
  expect(await backend.post(`/v1/function/${name}/describe`, { version })).toEqual(errorOf('TableNotFound'))
})

it('is listed by name and version, page by page', async () => {
  const backend = await runningBackend()
  for (const name of ['é', 'b', 'b', 'a', 'Z']) await create(backend, encodeURIComponent(name))
  const all = ['Z 1', 'a 1', 'b 1', 'b 2', 'é 1']
  for (const query of ['limit=1', 'limit=2', 'limit=2&include_definition=true', 'limit=9']) {
    const paged: string[] = []
    let token = ''
    do {
      const { json } = await backend.get(
        `/v1/namespace/$/function/list?${query}&page_token=${encodeURIComponent(token)}`,
      )
      const page = json as { functions: { name: string; version: string }[]; page_token?: string }
      paged.push(...page.functions.map(({ name, version }) => `${name} ${version}`))
      token = page.page_token ?? ''
    } while (token !== '')
    expect(paged).toEqual(all)
  }
  const list = (query: string) => backend.get(`/v1/namespace/$/function/list?${query}`)
  expect(await list('limit=0')).toMatchObject({ json: { functions: [], page_token: expect.any(String) } })
  expect(await list('page_token=a/x')).toEqual(errorOf('InvalidInput'))
  expect(await list('page_token=a/1/1')).toEqual(errorOf('InvalidInput'))
})

it('a page has at most 20 definitions', async () => {
  const backend = await runningBackend()
  for (let count = 0; count < 21; count += 1) await create(backend, 'f')
  for (const [query, found] of [
    ['include_definition=true', 20],
    ['include_definition=true&limit=99', 20],
    ['limit=99', 21],
  ] as const) {
    const { json } = await backend.get(`/v1/namespace/$/function/list?${query}`)
    expect((json as { functions: unknown[] }).functions).toHaveLength(found)
  }
})

const bound = (...references: object[]) => ({
  ...sent,
  secret_bindings: references.map((reference) => ({ kind: 'env', variable: 'TOKEN', secret_ref: reference })),
})

it('a bound secret exists in the namespace that the binding names', async () => {
  const backend = await runningBackend(await secretsKey())
  const { post } = backend
  await post('/v1/namespace/a/create', {})
  for (const name of ['root', 'a$token']) await post(`/v1/secret/${name}/create`, { value: 'x' })
  for (const references of [
    [{ name: 'root' }, { name: 'token', namespace_path: ['a'] }],
    [{ name: 'root', namespace_path: [] }],
    [{ name: 'root', namespace_path: null }],
  ]) {
    const { result } = await create(backend, 'f', bound(...references))
    expect((result as { secret_bindings: unknown[] }).secret_bindings).toHaveLength(references.length)
  }
  for (const reference of [
    { name: 'token' },
    { name: 'root', namespace_path: ['a'] },
    { name: 'root', namespace_path: ['b'] },
    { name: 'a/token' },
    { name: '' },
    { name: 'root', namespace_path: [''] },
  ]) {
    expect(await post('/v1/function/g/create', bound(reference))).toEqual(errorOf('InvalidInput'))
  }
  const many = Array.from({ length: 101 }, () => ({ name: 'root' }))
  expect(await post('/v1/function/g/create', bound(...many))).toEqual(errorOf('InvalidInput'))
  expect(await post('/v1/function/g/describe', { version: '1' })).toEqual(errorOf('TableNotFound'))
  const { json } = await post('/v1/function/g/create', bound({ name: 'token' }))
  expect(json).toMatchObject({
    error: 'there is no secret "token", to which secret_bindings binds the variable "TOKEN"; create it first',
  })
})

it('a job does not describe a later function of the same name', async () => {
  const { post } = await runningBackend()
  const { json } = await post('/v1/function/f/create', sent)
  const describe = async () =>
    (await post('/v1/jobs/describe', json)).json as { job_state: string; result?: object }
  expect(await describe()).toMatchObject({ job_state: 'DONE', result: { signature } })
  await post('/v1/function/f/drop', { version: '1' })
  await post('/v1/function/f/create', sent)
  expect(await describe()).toEqual(expect.not.objectContaining({ result: expect.anything() }))
})

it('a definition has at most 256 KiB, and the content of the artifact does not count', async () => {
  const { post } = await runningBackend()
  const large = 'x'.repeat(300_000)
  const create = (body: object) => post('/v1/function/f/create', { ...sent, ...body })
  expect(await create({ runtime: { env: { LARGE: large } } })).toEqual(errorOf('InvalidInput'))
  const content = { encoding: 'base64', data: large }
  expect(await create({ artifact: { content } })).toMatchObject({ status: 202 })
})

it('racing creations get versions of their own', async () => {
  const backend = await runningBackend()
  await Promise.all(Array.from({ length: 8 }, () => create(backend, 'f')))
  const { json } = await backend.get('/v1/namespace/$/function/list')
  const { functions } = json as { functions: { version: string }[] }
  expect(functions.map(({ version }) => version)).toEqual(['1', '2', '3', '4', '5', '6', '7', '8'])
})

it('a table, a function and a secret may have one name', async () => {
  const backend = await runningBackend(await secretsKey())
  await backend.post('/v1/table/same/declare', {})
  await create(backend, 'same')
  expect(await backend.post('/v1/secret/same/create', { value: 'x' })).toEqual(responseOf({}))
})

it('no column is computed by a function', async () => {
  const backend = await runningBackend()
  await create(backend, 'f')
  await backend.post('/v1/table/t/declare', {})
  const added = await backend.post('/v1/table/t/add_columns', {
    new_columns: [{ name: 'x', all_null: true }],
    function: {
      application: { function: { name: 'f', version: '1' }, inputs: [], output: { kind: 'scalar' } },
      binding_metadata_version: 1,
      input_bindings: [],
      input_schema: { fields: [] },
      output_schema: { fields: [] },
      outputs: [],
    },
  })
  expect(added).toEqual(errorOf('Unsupported'))
})
