import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, readlink } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'

interface Step {
  readonly instruction: string
  readonly text: string
  readonly words: readonly string[]
}

const read = (name: string): Promise<string> => readFile(join(projectFolder, name), 'utf8')
const steps = (await read('Dockerfile'))
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line))
  .map((line): Step => {
    const [instruction = '', ...words] = line.split(' ')
    return { instruction, text: words.join(' '), words }
  })
/** The steps of each stage after its FROM, by name. */
const stages = new Map<string, { readonly from: string; readonly steps: readonly Step[] }>()
for (const [index, { instruction, words }] of steps.entries()) {
  const [from = '', , name = ''] = words
  const next = steps.slice(index + 1)
  const end = next.findIndex(({ instruction }) => instruction === 'FROM')
  if (instruction === 'FROM') stages.set(name, { from, steps: end === -1 ? next : next.slice(0, end) })
}

interface Package {
  readonly name: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}
interface LockedPackage {
  readonly version: string
  readonly dev?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
}
const packageOf = async (folder: string) => JSON.parse(await read(join(folder, 'package.json'))) as Package
const gateway = await packageOf('.')
const catalog = await packageOf('src/backend')
const required = Object.keys({ ...gateway.dependencies, ...gateway.peerDependencies }).filter(
  (name) => name !== catalog.name,
)
const { packages } = JSON.parse(await read('package-lock.json')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>
}
const ofDevelopment = Object.fromEntries(Object.entries(packages).filter(([, { dev }]) => dev === true))

it('the image only contains files of the repository', async () => {
  const copied = steps
    .filter(({ instruction, text }) => instruction === 'COPY' && !text.startsWith('--from='))
    .flatMap(({ words }) => words.slice(0, -1))
  const [everything, ...named] = (await read('.dockerignore'))
    .split('\n')
    .filter((line) => /^[*!]/.test(line))
  expect(everything).toBe('*')
  const outsideSources = copied.filter((name) => !name.startsWith('src/'))
  expect(new Set(outsideSources.map((name) => `!${name.replace('./', '')}`))).toEqual(new Set(named))
  for (const name of copied) expect(existsSync(join(projectFolder, name)), name).toBe(true)
})

it('the images run as an unprivileged user on the newest tested Node', () => {
  const bases = [...stages.values()].map(({ from }) => from).filter((name) => !stages.has(name))
  expect(new Set(bases)).toEqual(new Set(['node:24-bookworm-slim']))
  expect(stages.get('gateway')?.from).toBe('program')
  expect(stages.get('catalog')?.from).toBe('program')
  const last = new Map(stages.get('program')?.steps.map(({ instruction, text }) => [instruction, text]))
  expect(last.get('USER')).toMatch(/^[1-9]\d{4,}:[1-9]\d{4,}$/)
  expect(last.get('ENTRYPOINT')).toBe('["node", "/app/dist/main.js"]')
})

it('without a target, the image is that of the gateway', () => {
  expect([...stages.keys()].at(-1)).toBe('gateway')
})

/** Paths of the client of shared limits, which the image of the gateway has. */
const ofSharedLimits: ReadonlySet<string> = new Set(
  ['@redis/client', ...Object.keys(packages['node_modules/@redis/client']?.dependencies ?? {})].map(
    (name) => `node_modules/${name}`,
  ),
)

const targets: readonly {
  readonly target: string
  readonly command: string
  readonly needs: readonly string[]
  readonly lacks: readonly string[]
}[] = [
  {
    target: 'gateway',
    command: 'serve',
    needs: required,
    lacks: Object.keys(catalog.dependencies).filter((name) => !required.includes(name)),
  },
  {
    target: 'catalog',
    command: 'backend',
    needs: [
      ...required.filter((name) => name !== '@redis/client'),
      ...Object.keys(catalog.dependencies),
      catalog.name,
    ],
    lacks: [],
  },
]

it.each(targets)(
  'the steps of the Dockerfile make the image of the $target without the packages of development, and say what is in it',
  async ({ target, command, needs, lacks }) => {
    const root = await run(target)
    const app = join(root, 'app')
    expect(await readlink(join(root, 'usr/local/bin/catalog-gateway'))).toMatch(/\/app\/dist\/main\.js$/)
    const program = join(app, 'dist/main.js')
    expect((await promisify(execFile)(program, ['--help'])).stdout).toContain(command)
    const loading = needs.map((name) => `await import('${name}')`)
    const node = [process.execPath, ['--input-type=module', '--eval', loading.join('\n')]] as const
    await promisify(execFile)(...node, { cwd: app })
    for (const path of [...Object.keys(ofDevelopment), ...lacks.map((name) => `node_modules/${name}`)]) {
      expect(existsSync(join(app, path)), path).toBe(
        target === 'gateway' ? ofSharedLimits.has(path) : path === 'node_modules/catalog-gateway',
      )
    }
    const { metadata, components } = JSON.parse(await readFile(join(app, 'sbom.json'), 'utf8')) as {
      readonly metadata: { readonly component: { readonly name: string } }
      readonly components: readonly { readonly 'bom-ref': string }[]
    }
    expect(metadata.component.name).toBe('catalog-gateway')
    const listed = new Set(components.map((component) => component['bom-ref']))
    const wanted = needs.filter((name) => name !== catalog.name).map((name) => refOf(`node_modules/${name}`))
    expect(wanted.filter((ref) => !listed.has(ref))).toEqual([])
    const shipped = new Set(
      Object.keys(packages).flatMap((path) =>
        path in ofDevelopment && !(target === 'gateway' && ofSharedLimits.has(path)) ? [] : [refOf(path)],
      ),
    )
    const unwanted = Object.keys(ofDevelopment).map(refOf)
    expect(unwanted.filter((ref) => listed.has(ref) && !shipped.has(ref))).toEqual([])
  },
  20 * 60_000,
)

/** Reference of the package with that path in the software bill of materials. */
function refOf(path: string): string {
  return `${path.replace(/^.*node_modules\//, '')}@${packages[path]?.version}`
}

const folder = await makeTemporaryFolder()
afterAll(() => removeFolder(folder))

const roots = new Map<string, Promise<string>>()

/** Runs the steps of a stage, and of those that it needs, in a folder that stands for `/`. Returns the folder. */
async function run(name: string): Promise<string> {
  const stage = stages.get(name)
  const root = join(folder, name)
  await mkdir(root)
  if (stage === undefined) return root
  await cp(await runOnce(stage.from), root, { recursive: true, verbatimSymlinks: true })
  await mkdir(join(root, 'usr/local/bin'), { recursive: true })
  for (const { instruction, text, words } of stage.steps) {
    const working = join(root, workingFolder(name))
    await mkdir(working, { recursive: true })
    if (instruction === 'COPY') {
      const from = /^--from=(\S+)/.exec(text)?.[1]
      const source = from === undefined ? projectFolder : await runOnce(from)
      const [target = '', ...names] = words.slice(from === undefined ? 0 : 1).toReversed()
      for (const name of names) await copy(join(source, name), join(working, target))
    } else if (instruction === 'RUN') {
      // Only paths of links begin at the root.
      const command = text.replaceAll(/(?<= )\/(?=\w)/g, `${root.replaceAll(' ', '\\ ')}/`)
      await promisify(execFile)('bash', ['-ec', command], { cwd: working, maxBuffer: 16 * 1024 * 1024 })
    }
  }
  return root
}

function runOnce(name: string): Promise<string> {
  const root = roots.get(name) ?? run(name)
  roots.set(name, root)
  return root
}

/** That of the stage, or of the one that it begins with. */
function workingFolder(name: string): string {
  const stage = stages.get(name)
  if (stage === undefined) return ''
  return stage.steps.find(({ instruction }) => instruction === 'WORKDIR')?.text ?? workingFolder(stage.from)
}

/** Like COPY: into a folder if the target ends with a slash, else to the target. */
async function copy(source: string, target: string): Promise<void> {
  const location = target.endsWith('/') ? join(target, source.split('/').at(-1) ?? '') : target
  await mkdir(dirname(location), { recursive: true })
  await cp(source, location, { recursive: true, verbatimSymlinks: true })
}
