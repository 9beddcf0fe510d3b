import { execFile } from 'node:child_process'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { projectFolder, temporaryFolder } from '../e2e/built-program.ts'
import { isThorough } from '../support/thorough.ts'

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
const starts = steps.flatMap(({ instruction }, index) => (instruction === 'FROM' ? [index] : []))
const [build, image] = starts.map((start, index) => steps.slice(start, starts[index + 1]))
const { dependencies, peerDependencies } = JSON.parse(await read('package.json')) as Readonly<
  Record<'dependencies' | 'peerDependencies', Readonly<Record<string, string>>>
>
const required = Object.keys({ ...dependencies, ...peerDependencies })
const { packages } = JSON.parse(await read('package-lock.json')) as {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>
}
const ofDevelopment = Object.fromEntries(Object.entries(packages).filter(([, { dev }]) => dev === true))

it('the image only contains files of the repository', async () => {
  const copied = steps
    .filter(({ instruction, text }) => instruction === 'COPY' && !text.startsWith('--from='))
    .flatMap(({ words }) => words.slice(0, -1))
  const [everything, ...named] = (await read('.dockerignore'))
    .split('\n')
    .filter((line) => /^[^#]/.test(line))
  expect(everything).toBe('*')
  expect(new Set(copied.map((name) => `!${name.replace('./', '')}`))).toEqual(new Set(named))
  for (const name of copied) expect(existsSync(join(projectFolder, name)), name).toBe(true)
})

it('the image runs as an unprivileged user on the newest tested Node', () => {
  expect(starts).toHaveLength(2)
  expect(
    new Set(steps.filter(({ instruction }) => instruction === 'FROM').map(({ words }) => words[0])),
  ).toEqual(new Set(['node:24-bookworm-slim']))
  const last = new Map(image?.map(({ instruction, text }) => [instruction, text]))
  expect(last.get('USER')).toMatch(/^[1-9]\d{4,}:[1-9]\d{4,}$/)
  expect(last.get('ENTRYPOINT')).toBe('["node", "/app/dist/main.js"]')
  expect(last.get('EXPOSE')).toBe('2333 2334')
})

it.skipIf(!isThorough)(
  'the steps of the Dockerfile make a program without the packages of development, and say what is in it',
  async () => {
    const first = await run(build ?? [])
    const second = await run(image ?? [], first)
    const program = join(second, 'usr/local/bin/catalog-gateway')
    expect((await promisify(execFile)(program, ['--help'])).stdout).toContain('serve')
    const loading = required.map((name) => `await import('${name}')`)
    const node = [process.execPath, ['--input-type=module', '--eval', loading.join('\n')]] as const
    await promisify(execFile)(...node, { cwd: join(second, 'app') })
    for (const path of Object.keys(ofDevelopment)) {
      expect(existsSync(join(second, 'app', path)), path).toBe(false)
    }
    const { metadata, components } = JSON.parse(await readFile(join(second, 'app/sbom.json'), 'utf8')) as {
      readonly metadata: { readonly component: { readonly name: string } }
      readonly components: readonly { readonly 'bom-ref': string }[]
    }
    expect(metadata.component.name).toBe('catalog-gateway')
    const listed = new Set(components.map((component) => component['bom-ref']))
    const wanted = required.map((name) => refOf(`node_modules/${name}`))
    expect(wanted.filter((ref) => !listed.has(ref))).toEqual([])
    const shipped = new Set(
      Object.keys(packages).flatMap((path) => (path in ofDevelopment ? [] : [refOf(path)])),
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

/** Runs the steps of one stage in a folder that stands for `/`; `other` is the root of the other stage. */
async function run(stage: readonly Step[], other = projectFolder): Promise<string> {
  const root = await temporaryFolder()
  await mkdir(join(root, 'usr/local/bin'), { recursive: true })
  let folder = root
  for (const { instruction, text, words } of stage) {
    if (instruction === 'WORKDIR') {
      folder = join(root, text)
      await mkdir(folder, { recursive: true })
    } else if (instruction === 'COPY') {
      const isFromOther = text.startsWith('--from=')
      const [target = '', ...names] = words.slice(isFromOther ? 1 : 0).toReversed()
      for (const name of names)
        await copy(join(isFromOther ? other : projectFolder, name), join(folder, target))
    } else if (instruction === 'RUN') {
      // Only paths of links begin at the root.
      const command = text.replaceAll(/(?<= )\/(?=\w)/g, `${root.replaceAll(' ', '\\ ')}/`)
      await promisify(execFile)('bash', ['-ec', command], { cwd: folder, maxBuffer: 16 * 1024 * 1024 })
    }
  }
  return root
}

/** Like COPY: into a folder if the target ends with a slash, else to the target. */
async function copy(source: string, target: string): Promise<void> {
  const location = target.endsWith('/') ? join(target, source.split('/').at(-1) ?? '') : target
  await mkdir(dirname(location), { recursive: true })
  await cp(source, location, { recursive: true, verbatimSymlinks: true })
}
