import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import type { Identifier } from '../../../src/catalog-api/identifiers.ts'
import { getMembers } from '../../../src/lib/json/is-object.ts'
import { cases, type Fixture } from '../fixture.ts'
import { waitForJob } from '../jobs.ts'

const signature = {
  inputs: [{ name: 'id', arrow_type: 'int64', nullable: false }],
  output: { kind: 'scalar', arrow_type: 'int64', nullable: false },
}
const source = 'def double(id: int) -> int:\n    return 2 * id\n'
const definition = {
  artifact: {
    kind: 'python_callable',
    digest: 'sha256:d6c0ad1a5fbd0f57de4bc1a8b6b2a6ee9a7ae1b7b0a2cd6a3aa2ea21a1d2b9f1',
    entrypoint: 'double',
    content: { encoding: 'base64', data: Buffer.from(source).toString('base64') },
    adapter: { kind: 'scalar_to_arrow_batch', version: 1 },
  },
  signature,
  runtime: { kind: 'python', python_version: '3.12', environment: { kind: 'pip' }, env: {} },
}

/** Creates a function, or a version of it. Returns the version. */
async function createFunction(fixture: Fixture, id: Identifier, more: object = {}): Promise<string> {
  const body = { ...definition, ...more }
  const { job_id: jobId } = await fixture.ok('CreateFunction', id, { body })
  equal(await waitForJob(fixture, jobId), 'DONE')
  const { result } = await fixture.ok('DescribeJob', [], { body: { job_id: jobId } })
  const { name, version } = getMembers(result)
  equal(name, id.at(-1))
  assert(typeof version === 'string', 'the job results in a version')
  return version
}

async function createSecret({ ok, unusedId }: Fixture): Promise<Identifier> {
  const id = unusedId()
  await ok('CreateSecret', id, { body: { value: 'the value' } })
  return id
}

async function listNames(
  { ok }: Fixture,
  operation: 'ListFunctions' | 'ListSecrets',
  id: Identifier,
  query = {},
) {
  const page = await ok(operation, id, { query })
  const listed = page[operation === 'ListFunctions' ? 'functions' : 'secrets'] as { name: string }[]
  return { names: listed.map(({ name }) => name), listed, token: page['page_token'] }
}

export const functionAndSecretCases = cases({
  CreateFunction: {
    'creates a version by a job': async (fixture) => {
      const id = fixture.unusedId()
      const version = await createFunction(fixture, id)
      const described = await fixture.ok('DescribeFunction', id, { body: { version } })
      deepEqual(
        [described['name'], described['version'], described['signature']],
        [id.at(-1), version, signature],
      )
    },
    'creates another version of an existing function': async (fixture) => {
      const id = fixture.unusedId()
      const first = await createFunction(fixture, id)
      const second = await createFunction(fixture, id, { signature: { ...signature, inputs: [] } })
      assert(first !== second, 'the versions differ')
      const described = await fixture.ok('DescribeFunction', id, { body: { version: first } })
      deepEqual(described['signature'], signature)
    },
    'binds a secret that exists, and no other': async (fixture) => {
      const secret = await createSecret(fixture)
      const binding = (name = '') => ({
        kind: 'env',
        variable: 'TOKEN',
        secret_ref: { name, namespace_path: fixture.runNamespace },
      })
      const bindings = [binding(secret.at(-1))]
      const id = fixture.unusedId()
      const version = await createFunction(fixture, id, { secret_bindings: bindings })
      const described = await fixture.ok('DescribeFunction', id, { body: { version } })
      deepEqual(described['secret_bindings'], bindings)
      const body = { ...definition, secret_bindings: [binding('absent')] }
      await fixture.expectError('CreateFunction', id, { body }, 'InvalidInput', 'TableNotFound')
    },
  },
  DescribeFunction: {
    'describes a version with the members that clients require': async (fixture) => {
      const id = fixture.unusedId()
      const version = await createFunction(fixture, id)
      const described = await fixture.ok('DescribeFunction', id, { body: { version } })
      deepEqual([described['name'], described['namespace_path']], [id.at(-1), fixture.runNamespace])
      for (const member of ['object_id', 'location', 'image', 'created_at_millis', 'metadata', 'disabled'])
        assert(member in described, `the version has ${member}`)
    },
    'rejects a missing version': async (fixture) => {
      const id = fixture.unusedId()
      await createFunction(fixture, id)
      await fixture.expectError('DescribeFunction', id, { body: { version: '7' } }, 'TableNotFound')
    },
  },
  DropFunction: {
    'drops a function, and reports whether it existed': async (fixture) => {
      const id = fixture.unusedId()
      const version = await createFunction(fixture, id)
      const drop = () => fixture.ok('DropFunction', id, { body: { version } })
      equal((await drop())['dropped'], true)
      equal((await drop())['dropped'], false)
      await fixture.expectError('DescribeFunction', id, { body: { version } }, 'TableNotFound')
    },
    'rejects a missing version': async (fixture) => {
      const id = fixture.unusedId()
      await createFunction(fixture, id)
      await fixture.expectError('DropFunction', id, { body: { version: '7' } }, 'TableNotFound')
    },
  },
  ListFunctions: {
    'lists the functions of a namespace in pages': async (fixture) => {
      const namespace = await fixture.namespace()
      for (const name of ['b', 'a']) await createFunction(fixture, [...namespace, name])
      deepEqual((await listNames(fixture, 'ListFunctions', namespace)).names, ['a', 'b'])
      const first = await listNames(fixture, 'ListFunctions', namespace, { limit: '1' })
      const query = { limit: '1', page_token: String(first.token) }
      const second = await listNames(fixture, 'ListFunctions', namespace, query)
      deepEqual([...first.names, ...second.names, second.token ?? ''], ['a', 'b', ''])
    },
    'lists definitions if they are requested': async (fixture) => {
      const namespace = await fixture.namespace()
      await createFunction(fixture, [...namespace, 'f'])
      const query = { include_definition: 'true' }
      const { listed } = await listNames(fixture, 'ListFunctions', namespace, query)
      deepEqual(getMembers(getMembers(listed[0])['definition'])['signature'], signature)
    },
  },
  CreateSecret: {
    'rejects a taken name': async (fixture) => {
      const id = await createSecret(fixture)
      await fixture.expectError('CreateSecret', id, { body: { value: 'x' } }, 'TableAlreadyExists')
    },
  },
  AlterSecret: {
    'replaces the value': async (fixture) => {
      const id = await createSecret(fixture)
      const before = await fixture.ok('DescribeSecret', id)
      await fixture.ok('AlterSecret', id, { body: { value: 'another value' } })
      const after = await fixture.ok('DescribeSecret', id)
      equal(after['created_at_millis'], before['created_at_millis'])
      assert(Number(after['updated_at_millis']) >= Number(before['updated_at_millis']))
    },
  },
  DescribeSecret: {
    'describes a secret without its value': async (fixture) => {
      const id = await createSecret(fixture)
      const described = await fixture.ok('DescribeSecret', id)
      equal(described['name'], id.at(-1))
      assert(!JSON.stringify(described).includes('the value'))
    },
  },
  DropSecret: {
    'drops a secret': async (fixture) => {
      const id = await createSecret(fixture)
      await fixture.ok('DropSecret', id)
      await fixture.expectError('DescribeSecret', id, {}, 'TableNotFound')
    },
  },
  ListSecrets: {
    'lists the secrets of a namespace in pages': async (fixture) => {
      const namespace = await fixture.namespace()
      for (const name of ['b', 'a'])
        await fixture.ok('CreateSecret', [...namespace, name], { body: { value: 'x' } })
      deepEqual((await listNames(fixture, 'ListSecrets', namespace)).names, ['a', 'b'])
      const first = await listNames(fixture, 'ListSecrets', namespace, { limit: '1' })
      const query = { limit: '1', page_token: String(first.token) }
      const second = await listNames(fixture, 'ListSecrets', namespace, query)
      deepEqual([...first.names, ...second.names, second.token ?? ''], ['a', 'b', ''])
    },
  },
  DropNamespace: {
    'a namespace with a function or a secret is not empty': async (fixture) => {
      const [one, other] = [await fixture.namespace(), await fixture.namespace()]
      await createFunction(fixture, [...one, 'f'])
      await fixture.ok('CreateSecret', [...other, 's'], { body: { value: 'x' } })
      for (const id of [one, other]) {
        await fixture.expectError('DropNamespace', id, { body: {} }, 'NamespaceNotEmpty')
        await fixture.ok('DropNamespace', id, { body: { behavior: 'Cascade' } })
      }
    },
  },
})
