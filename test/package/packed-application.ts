import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { makeTemporaryFolder, projectFolder, requireFreshBuild } from '../e2e/built-program.ts'

const run = promisify(execFile)

/**
 * Creates an application with the package as `npm pack` makes it, and with the packages that it depends on, as links.
 * The caller must remove the folder.
 */
export async function createPackedApplication(files: Readonly<Record<string, string>>): Promise<string> {
  requireFreshBuild()
  const folder = await makeTemporaryFolder()
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]
  const tarball = (await run('npm', pack, { cwd: projectFolder })).stdout.trim()
  await run('tar', ['-xzf', join(folder, tarball), '-C', folder])
  await rename(join(folder, 'package'), join(modules, 'catalog-gateway'))
  for (const name of [...(await listProductionPackages()), '@types/node']) await linkPackage(name, modules)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

async function listProductionPackages(): Promise<readonly string[]> {
  const lock = JSON.parse(await readFile(join(projectFolder, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>
  }
  return Object.entries(lock.packages).flatMap(([path, { dev }]) => {
    const [before, name, ...nested] = path.split('node_modules/')
    return before === '' && name !== undefined && nested.length === 0 && dev !== true ? [name] : []
  })
}

/** Packages for other platforms are not installed. */
async function linkPackage(name: string, modules: string): Promise<void> {
  const target = join(projectFolder, 'node_modules', name)
  if (!existsSync(target)) return
  await mkdir(dirname(join(modules, name)), { recursive: true })
  await symlink(target, join(modules, name))
}
