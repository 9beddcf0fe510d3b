import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeFolder } from '../support/temporary-folder.ts'
import { createPackedApplication } from './packed-application.ts'

/** Collects the ES modules that are loaded; `require.cache` has the others. */
const recorder = `
import { register } from 'node:module'
const hook = \`
  import { appendFileSync } from 'node:fs'
  export async function resolve(specifier, context, next) {
    const result = await next(specifier, context)
    appendFileSync('loaded.txt', result.url + '\\\\n')
    return result
  }\`
register('data:text/javascript,' + encodeURIComponent(hook))
`
const application = `
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { catalogGateway } from 'catalog-gateway/fastify'
const loaded = [...readFileSync('loaded.txt', 'utf8').split('\\n'), ...Object.keys(createRequire(import.meta.url).cache)]
console.log(JSON.stringify({ plugin: typeof catalogGateway, loaded }))
`

let folder: string

beforeAll(async () => {
  folder = await createPackedApplication({ 'recorder.js': recorder, 'application.js': application })
})

afterAll(() => removeFolder(folder))

it('the plugin loads no engine, and no library of a cloud, broker or database', async () => {
  const { stdout } = await runNode('--import', './recorder.js', 'application.js')
  const { plugin, loaded } = JSON.parse(stdout) as { plugin: string; loaded: readonly string[] }
  expect(plugin).toBe('function')
  const packages = new Set(loaded.map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]))
  expect([...packages]).toEqual(expect.arrayContaining(['catalog-gateway', 'zod', 'prom-client']))
  const heavy = /^(@lancedb|@aws-sdk|@smithy|@redis)\/|^(kysely|pg|libsql)$/
  expect([...packages].filter((name) => name !== undefined && heavy.test(name))).toEqual([])
})

it('the program and its modules cannot be imported', async () => {
  const names = ['catalog-gateway', 'catalog-gateway/dist/main.js']
  const importAll = `Promise.allSettled(${JSON.stringify(names)}.map((name) => import(name)))`
  const codes = `console.log((await ${importAll}).map(({ reason }) => reason?.code).join())`
  const { stdout } = await runNode('--input-type=module', '--eval', codes)
  expect(stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED,ERR_PACKAGE_PATH_NOT_EXPORTED\n')
})

function runNode(...parameters: readonly string[]): Promise<{ readonly stdout: string }> {
  return promisify(execFile)(process.execPath, parameters, { cwd: folder })
}
