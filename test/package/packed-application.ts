import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { projectFolder, requireFreshBuild } from '../e2e/built-program.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

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
  for (const name of new Set([...(await listProductionPackages()), '@types/node']))
    await linkPackage(name, modules)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

/** Those of the gateway alone, without the package of the bundled catalog. */
async function listProductionPackages(): Promise<readonly string[]> {
  const words = ['ls', '--omit=dev', '--all', '--parseable', '--workspaces=false']
  const { stdout } = await run('npm', words, { cwd: projectFolder })
  return stdout.split('\n').flatMap((path) => {
    const [, name, ...nested] = path.split('node_modules/')
    return name !== undefined && nested.length === 0 ? [name] : []
  })
}

/** Packages for other platforms are not installed. */
async function linkPackage(name: string, modules: string): Promise<void> {
  const target = join(projectFolder, 'node_modules', name)
  if (!existsSync(target)) return
  await mkdir(dirname(join(modules, name)), { recursive: true })
  await symlink(target, join(modules, name))
}
