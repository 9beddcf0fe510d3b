import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { expect, inject, onTestFinished, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { errorOf, runningBackend } from '../support/running-backend.ts'
import { credentials } from './credentials.ts'
import { freshBucket } from './object-store.ts'
import { carelessService, interruptibleService } from './token-services.ts'

type Options = Readonly<Record<string, string>>

/** Starts a catalog in its own bucket with these vending settings. */
async function vendingBackend(vending: object) {
  const bucket = await freshBucket()
  const { data, store } = bucket.settings
  const backend = await runningBackend({ data: { s3: { ...data.s3, vending } }, store }, bucket.folder)
  const optionsOf = async (target: string, body: object = {}) => {
    const { status, json } = await backend.post(`/v1/table/${target}`, body)
    expect(status).toBe(200)
    return (json as { storage_options?: Options }).storage_options
  }
  const keyOf = async (table: string) => {
    const { json } = await backend.post(`/v1/table/${table}/describe`, {})
    return (json as { location: string }).location.slice(`s3://${bucket.bucket}/`.length)
  }
  return { ...backend, bucket, optionsOf, keyOf }
}

function temporary(access: 'read' | 'write', others: object = {}) {
  return { mode: 'temporary', roleArn: inject('s3Role'), access, durationSeconds: 900, ...others }
}

function endpointOptions() {
  return {
    aws_region: 'us-east-1',
    aws_virtual_hosted_style_request: 'false',
    aws_endpoint: inject('s3Endpoint'),
    allow_http: 'true',
  }
}

const secrets = /aws_access_key_id|aws_secret|aws_session|expires_at/

it('vends no storage options by default', async () => {
  const { post, optionsOf } = await vendingBackend({})
  expect(await optionsOf('t/declare', { vend_credentials: true })).toBeUndefined()
  expect(await optionsOf('t/describe', { vend_credentials: true })).toBeUndefined()
  const created = await post('/v1/table/u/create', streamOf(orders(1)))
  expect(created.json).not.toHaveProperty('storage_options')
})

it('vends the endpoint without credentials', async () => {
  const { optionsOf } = await vendingBackend({ mode: 'location' })
  for (const [index, body] of [{ vend_credentials: true }, { vend_credentials: false }, {}].entries()) {
    expect(await optionsOf(`t${index}/declare`, body)).toEqual(endpointOptions())
    expect(await optionsOf(`t${index}/describe`, body)).toEqual(endpointOptions())
  }
})

it('vends temporary credentials unless the request declines them', async () => {
  const { post, optionsOf } = await vendingBackend(temporary('read'))
  const before = Date.now()
  const declared = await optionsOf('t/declare')
  expect(declared).toEqual({
    ...endpointOptions(),
    aws_access_key_id: expect.any(String),
    aws_secret_access_key: expect.any(String),
    aws_session_token: expect.any(String),
    expires_at_millis: expect.stringMatching(/^\d{13}$/),
  })
  const seconds = (Number(declared?.['expires_at_millis']) - before) / 1000
  expect(seconds).toBeGreaterThan(800)
  expect(seconds).toBeLessThan(1000)
  expect(JSON.stringify(declared)).not.toContain(credentials.AWS_ACCESS_KEY_ID)
  expect(JSON.stringify(declared)).not.toContain(credentials.AWS_SECRET_ACCESS_KEY)
  // Credentials are cached per table and differ between tables.
  const described = await Promise.all(
    [{}, { vend_credentials: true }].map((body) => optionsOf('t/describe', body)),
  )
  expect(described).toEqual([declared, declared])
  const other = await optionsOf('u/declare', { vend_credentials: true })
  expect(other?.['aws_session_token']).not.toBe(declared?.['aws_session_token'])

  expect(await optionsOf('t/describe', { vend_credentials: false })).toEqual(endpointOptions())
  expect(await optionsOf('v/declare', { vend_credentials: false })).toEqual(endpointOptions())
  const responses = [
    await post('/v1/table/w/create', streamOf(orders(1))),
    await post('/v1/table/batch-commit', { operations: [{ declare_table: { id: ['x'] } }] }),
  ]
  for (const { status, json } of responses) {
    expect(status).toBe(200)
    expect(JSON.stringify(json)).not.toMatch(secrets)
  }
})

const allowedTo = {
  read: ['list', 'get'],
  write: ['list', 'get', 'put', 'upload', 'stage', 'delete'],
} as const

it.each(['read', 'write'] as const)('limits credentials to %s to that and to one table', async (access) => {
  const { post, optionsOf, keyOf, bucket } = await vendingBackend(temporary(access))
  for (const name of ['mine', 'other']) await post(`/v1/table/${name}/create`, streamOf(orders(1)))
  const [mine, other] = [await keyOf('mine'), await keyOf('other')]
  const client = clientWith(await optionsOf('mine/describe'))
  const Bucket = bucket.bucket
  const manifest = (await bucket.keys(`${mine}/_versions/`))[0] ?? ''
  const next = manifest.replace(/\d+\.manifest$/, `${2n ** 64n - 3n}.manifest`)
  await bucket.put(`${mine}/data/x`, 'x')
  await bucket.put(`${mine}x/data/x`, 'x')
  const list = (Prefix?: string) => new ListObjectsV2Command({ Bucket, Prefix })
  const get = (Key: string) => new GetObjectCommand({ Bucket, Key })
  const put = (Key: string) => new PutObjectCommand({ Bucket, Key, Body: 'y' })
  const remove = (Key: string) => new DeleteObjectCommand({ Bucket, Key })

  const attempts = {
    list: () => client.send(list(`${mine}/_versions/`)),
    get: () => client.send(get(manifest)),
    put: () => client.send(put(`${mine}/data/y`)),
    upload: () => client.send(new CreateMultipartUploadCommand({ Bucket, Key: `${mine}/data/z` })),
    stage: () => client.send(put(`${next}-5d4c6a3e-0d0e-4f43-9c0e-3f4d5e6f7a8b`)),
    delete: () => client.send(remove(`${mine}/data/x`)),
    'list all': () => client.send(list()),
    'list the tables': () => client.send(list('some/prefix/tables/')),
    'list another table': () => client.send(list(`${other}/`)),
    'list what begins alike': () => client.send(list(mine)),
    'list the buckets': () => client.send(new ListBucketsCommand({})),
    'get of another table': () => client.send(get(`${other}/_versions/${manifest.split('/').at(-1)}`)),
    'get what begins alike': () => client.send(get(`${mine}x/data/x`)),
    'get the mark of the catalog': () => client.send(get('some/prefix/catalog.json')),
    'put to another table': () => client.send(put(`${other}/data/y`)),
    'put aside': () => client.send(put('some/prefix/commits/y')),
    'delete of another table': () => client.send(remove(`${other}/data/x`)),
    'put a manifest': () => client.send(put(next)),
    'replace a manifest': () => client.send(put(manifest)),
    'delete a manifest': () => client.send(remove(manifest)),
    'put a manifest of a branch': () => client.send(put(`${mine}/tree/dev/_versions/1.manifest`)),
    'upload a manifest': () => client.send(new CreateMultipartUploadCommand({ Bucket, Key: next })),
  }
  const outcomes = new Map<string, unknown>()
  for (const [what, send] of Object.entries(attempts)) {
    outcomes.set(
      what,
      await send().then(
        () => 200,
        (error: { $metadata: object }) => error.$metadata,
      ),
    )
  }
  const expected = Object.keys(attempts).map((what) =>
    (allowedTo[access] as readonly string[]).includes(what)
      ? [what, 200]
      : [what, expect.objectContaining({ httpStatusCode: 403 })],
  )
  expect([...outcomes]).toEqual(expected)
})

it('fails to start if the role cannot be assumed', async () => {
  const roleArn = 'arn:aws:iam:::role/none'
  await expect(vendingBackend(temporary('read', { roleArn }))).rejects.toMatchObject({
    message: expect.stringMatching(/the object store at s3:\S+ cannot be used/),
    cause: { message: expect.stringContaining('AssumeRole failed with status 404 NoSuchEntity') },
  })
  const stsEndpoint = 'http://127.0.0.1:1'
  await expect(vendingBackend(temporary('read', { stsEndpoint }))).rejects.toMatchObject({
    cause: { message: expect.stringContaining('the STS endpoint is unreachable') },
  })
})

it('fails to start if the service ignores the session policy', async () => {
  const stsEndpoint = await carelessService()
  await expect(vendingBackend(temporary('read', { stsEndpoint }))).rejects.toMatchObject({
    cause: { message: expect.stringContaining('not confined') },
  })
})

it('serves only requests without credentials while none can be issued', async () => {
  const { endpoint: stsEndpoint, interrupt } = await interruptibleService()
  const { post, optionsOf } = await vendingBackend(temporary('write', { stsEndpoint }))
  const declared = await optionsOf('t/declare')
  const resume = await interrupt()
  expect(await optionsOf('t/describe')).toEqual(declared)
  expect(await post('/v1/table/u/declare', {})).toEqual(errorOf('ServiceUnavailable'))
  expect(await post('/v1/table/u/describe', {})).toEqual(errorOf('ServiceUnavailable'))
  expect(await optionsOf('u/describe', { vend_credentials: false })).toEqual(endpointOptions())
  await resume()
  expect(await optionsOf('u/describe')).toMatchObject({ aws_session_token: expect.any(String) })
})

function clientWith(options: Options = {}): S3Client {
  const {
    aws_access_key_id: accessKeyId = '',
    aws_secret_access_key: secretAccessKey = '',
    aws_session_token: sessionToken = '',
    aws_endpoint: endpoint = '',
  } = options
  const client = new S3Client({
    endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey, sessionToken },
  })
  onTestFinished(() => client.destroy())
  return client
}
