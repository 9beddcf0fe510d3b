import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeFolder } from '../support/temporary-folder.ts'
import { projectFolder } from '../e2e/built-program.ts'
import { createPackedApplication } from './packed-application.ts'

const compiler = join(projectFolder, 'node_modules', '.bin', 'tsc')
const options = [
  '--strict',
  '--exactOptionalPropertyTypes',
  '--noEmit',
  '--module',
  'nodenext',
  '--types',
  'node',
]

const application = `
import { readFileSync } from 'node:fs'
import fastify from 'fastify'
import { catalogGateway, type EmbeddedSettings } from 'catalog-gateway/fastify'

const settings: EmbeddedSettings = {
  upstream: { url: 'https://catalog.internal:8443' },
  policies: { folder: 'policies' },
  audit: { folder: 'audit' },
}
const authenticate = () => ({ name: 'ada', groups: ['analysts'] })

const app = fastify()
await app.register(catalogGateway, { settings, prefix: '/catalog', authenticate })
app.addHook('onResponse', async (request) => request.log.info(request.catalogPrincipal?.name))
app.get('/metrics', async () => (await app.catalogGateway.metrics()).text)

const https = { key: readFileSync('tls.key'), cert: readFileSync('tls.crt') }
await fastify({ https }).register(catalogGateway, { settings, authenticate })
`
const misspelled = application.replace('folder:', 'path:')

let folder: string
/** Lines of the compiler about both applications. */
let diagnostics: readonly string[]

beforeAll(async () => {
  folder = await createPackedApplication({ 'application.ts': application, 'misspelled.ts': misspelled })
  diagnostics = (await compile('application.ts', 'misspelled.ts')).split('\n').filter((line) => line !== '')
})

afterAll(() => removeFolder(folder))

it('a strict TypeScript application compiles with the declarations of the package', async () => {
  expect(diagnostics.filter((line) => !/^(?:misspelled\.ts\(| )/.test(line))).toEqual([])
})

it('a misspelled setting does not compile', async () => {
  expect(diagnostics.join('\n')).toMatch(/^misspelled\.ts\([^]*'path' does not exist in type/)
})

/** Returns the diagnostics. The declarations are checked, too: skipLibCheck is off. */
async function compile(...files: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(compiler, [...options, ...files], { cwd: folder }).catch(
    (error: unknown) => error as { readonly stdout: string },
  )
  return stdout
}
