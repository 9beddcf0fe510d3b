import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { expect, it, onTestFinished } from 'vitest'
import { getGlobalDispatcher } from 'undici'
import { assumeRole } from '../../storage/vending.ts'
import { startSigningServices } from './token-service.ts'

const region = 'eu-central-1'
const role = 'arn:aws:iam::123456789012:role/tables'

async function startClient(secretAccessKey?: string) {
  const { endpoint, credentials, requests } = await startSigningServices()
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { ...credentials, ...(secretAccessKey !== undefined && { secretAccessKey }) },
  })
  onTestFinished(() => client.destroy())
  const request = {
    endpoint,
    region,
    role,
    sessionName: 'catalog-t',
    policy: '{"a":"b c"}',
    seconds: 900,
    dispatcher: getGlobalDispatcher(),
  }
  return {
    requests,
    list: () => client.send(new ListObjectsV2Command({ Bucket: 'b', Prefix: 'a/b' })),
    assume: () => assumeRole(client, request),
  }
}

it('signs AssumeRole for sts and everything else for s3, whichever comes first', async () => {
  const { requests, list, assume } = await startClient()
  await list()
  const credentials = await assume()
  await list()
  await assume()
  expect(requests.map(({ service }) => service)).toEqual(['s3', 'sts', 's3', 'sts'])
  expect(credentials).toEqual({
    accessKeyId: 'ASIA',
    secretAccessKey: 'temporary',
    sessionToken: 'token',
    expiresAtMillis: Date.UTC(2030, 0, 2, 3, 4, 5),
  })

  const first = await startClient()
  await first.assume()
  await first.list()
  expect(first.requests.map(({ service }) => service)).toEqual(['sts', 's3'])
})

it('sends role, policy, session and lifetime in the region of the settings', async () => {
  const { requests, assume } = await startClient()
  await assume()
  expect(requests[0]?.region).toBe(region)
  expect(Object.fromEntries(new URLSearchParams(requests[0]?.body))).toEqual({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: 'catalog-t',
    DurationSeconds: '900',
    Policy: '{"a":"b c"}',
  })
})

it('names the code of the service and no secret if the signature is rejected', async () => {
  const { assume } = await startClient('a-wrong-secret')
  const error: unknown = await assume().catch((reason: unknown) => reason)
  expect(error).toMatchObject({ message: 'AssumeRole failed with status 403 SignatureDoesNotMatch' })
  expect(String(error)).not.toContain('a-wrong-secret')
})
