import { readFile } from 'node:fs/promises'
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'

interface ApplicationSetup {
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly options: FastifyServerOptions
}

/** Creates an application; with a certificate, one over TLS, which Fastify types differently. */
export async function createApplication({
  certFile,
  keyFile,
  options,
}: ApplicationSetup): Promise<FastifyInstance> {
  const tls =
    certFile === undefined || keyFile === undefined
      ? {}
      : { https: { cert: await readFile(certFile), key: await readFile(keyFile) } }
  const app: unknown = fastify({ ...options, ...tls } as FastifyServerOptions)
  return app as FastifyInstance
}
