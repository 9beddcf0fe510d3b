import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fastify, { type FastifyInstance } from 'fastify'
import { onTestFinished } from 'vitest'
import { catalogGateway, type CatalogGatewayOptions } from '../../../src/gateway/fastify/index.ts'
import { formatPolicies, type WrittenPolicy } from '../../policy/policy-builder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startRecordingUpstream, type RecordingUpstream } from '../support/recording-upstream.ts'

interface Setup extends Omit<Partial<CatalogGatewayOptions>, 'settings'> {
  /** Default: a new application over HTTP/1.1. */
  readonly app?: FastifyInstance
  readonly settings?: Partial<CatalogGatewayOptions['settings']>
}

export interface EmbeddedApplication {
  readonly app: FastifyInstance
  readonly url: string
  readonly upstream: RecordingUpstream
}

/** What the principal `app:alice` may do. */
const policy: WrittenPolicy = {
  name: 'embedded',
  namespace: [],
  onDeny: 403,
  rules: [{ id: 'read', effect: 'allow', subjects: { users: ['app:alice'] }, operations: ['read', 'write'] }],
}

/** Principals by the header `x-user`, which the application trusts in tests. */
const authenticateByHeader: NonNullable<CatalogGatewayOptions['authenticate']> = ({ headers }) => {
  const { 'x-user': name } = headers
  if (name === 'broken') throw new Error('the session store does not respond')
  return typeof name === 'string' ? { name } : undefined
}

/**
 * Mounts the gateway under `/catalog` in front of a recording upstream, until the end of the test. The application
 * authenticates, unless the settings have an `identity`.
 */
export async function startApplication(setup: Setup = {}): Promise<EmbeddedApplication> {
  const { app = fastify(), settings, ...options } = setup
  const folder = await temporaryFolder()
  const upstream = await startRecordingUpstream()
  onTestFinished(async () => {
    await app.close()
    await upstream.close()
  })
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'policies.yaml'), formatPolicies([policy]))
  await app.register(catalogGateway, {
    prefix: '/catalog',
    folder,
    ...(settings?.identity === undefined && { authenticate: authenticateByHeader }),
    ...options,
    settings: {
      upstream: { url: upstream.url },
      policies: { folder: 'policies' },
      audit: { folder: 'audit' },
      log: { level: 'silent' },
      ...settings,
    },
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { app, url, upstream }
}
