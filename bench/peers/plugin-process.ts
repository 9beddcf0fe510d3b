// An application with the plugin as built. Arguments: its port, the file of settings, and for TLS the files of certificate
// and key.
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parse } from 'yaml'
import type { catalogGateway as catalogGatewayType } from '../../src/gateway/fastify/index.ts'
import { createApplication } from './create-application.ts'

interface Plugin {
  readonly catalogGateway: typeof catalogGatewayType
}

const [port, file = '', certFile, keyFile] = process.argv.slice(2)
const built = new URL('../../dist/gateway/fastify/index.js', import.meta.url)
const { catalogGateway } = (await import(built.href)) as Plugin
const app = await createApplication({ certFile, keyFile, options: {} })
const settings = parse(await readFile(file, 'utf8')) as Parameters<typeof catalogGateway>[1]['settings']
await app.register(catalogGateway, { settings, folder: dirname(file) })
await app.listen({ port: Number(port), host: '127.0.0.1' })
