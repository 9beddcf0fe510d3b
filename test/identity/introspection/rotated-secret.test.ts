import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { introspectionSchema } from '../../../src/config/token-issuer-settings.ts'
import { createFileFollower } from '../../../src/lib/fs/follow-files.ts'
import { openOutbound } from '../../../src/outbound/outbound.ts'
import { startServer } from '../jwt/token-issuer.ts'
import { authenticateBearer, openAuthenticator } from '../test-authenticator.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

it('a rotated client secret is used at once, and an empty file keeps the last one', async () => {
  let accepted = 'one'
  const server = await startServer((request, response) => {
    const secret = Buffer.from(
      request.headers.authorization?.slice('Basic '.length) ?? '',
      'base64',
    ).toString()
    if (secret !== `gateway:${accepted}`) response.statusCode = 401
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ active: true, iss: 'https://corp.example', aud: 'catalog', sub: 'alice' }))
  })
  onTestFinished(() => server.stop())
  const clientSecretFile = join(await temporaryFolder(), 'secret')
  await writeFile(clientSecretFile, 'one\n')
  const failures: string[] = []
  const files = createFileFollower((setting, cause) => cause === undefined || failures.push(setting))
  onTestFinished(() => files.close())
  const introspection = introspectionSchema.parse({
    name: 'corp',
    url: server.url,
    issuer: 'https://corp.example',
    audience: 'catalog',
    clientId: 'gateway',
    clientSecretFile,
  })
  const outbound = await openOutbound({}, {}, files.follow)
  const authenticator = await openAuthenticator({ introspection, outbound })
  expect(await authenticateBearer(authenticator, 'first')).toMatchObject({ name: 'corp:alice' })

  // Another length: two writes may happen at the same time of the clock of the file system.
  accepted = 'another'
  await writeFile(clientSecretFile, 'another\n')
  expect(await authenticateBearer(authenticator, 'second')).toMatchObject({ name: 'corp:alice' })

  await writeFile(clientSecretFile, '')
  await eventually(() => expect(failures).toContain('identity.introspection.clientSecretFile'))
  expect(await authenticateBearer(authenticator, 'third')).toMatchObject({ name: 'corp:alice' })
})
