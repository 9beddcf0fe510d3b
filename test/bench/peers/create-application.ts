import { readFile } from 'node:fs/promises'
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'

interface ApplicationSetup {
  readonly protocol: string
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly options: FastifyServerOptions
}

/** Creates an application for a protocol of `protocols`. Fastify types those over TLS and HTTP/2 differently. */
export async function createApplication({
  protocol,
  certFile,
  keyFile,
  options,
}: ApplicationSetup): Promise<FastifyInstance> {
  const isHttp2 = !protocol.startsWith('HTTP/1.1')
  const tls =
    certFile === undefined || keyFile === undefined
      ? {}
      : { https: { cert: await readFile(certFile), key: await readFile(keyFile) } }
  const app: unknown = fastify({
    ...options,
    ...tls,
    ...(isHttp2 && { http2: true }),
  } as FastifyServerOptions)
  return app as FastifyInstance
}
