import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished, vi } from 'vitest'
import { projectFolder, requireFreshBuild, startNode } from '../e2e/built-program.ts'
import { withoutProblems } from '../e2e/running-dev.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

it(
  'both packages, as npm packs them and installs them into an empty folder, run by npx',
  async ({ skip }) => {
    requireFreshBuild()
    // An npx that runs these tests passes its own packages on.
    vi.stubEnv('npm_config_package', undefined)
    onTestFinished(() => void vi.unstubAllEnvs())
    const view = ['view', 'fastify', 'version', '--prefer-offline', '--fetch-retries=0']
    await run('npm', view).catch(() => skip('what the packages depend on cannot be had here'))
    const folder = await temporaryFolder()
    // Otherwise npm looks for a project in the folders around.
    await writeFile(join(folder, 'package.json'), '{ "private": true }')
    const pack = ['pack', '--silent', '--ignore-scripts', '--workspaces', '--include-workspace-root']
    const { stdout } = await run('npm', [...pack, '--pack-destination', folder], { cwd: projectFolder })
    const archives = stdout.trim().split('\n')
    expect(archives).toHaveLength(2)
    const install = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund']
    await run('npm', [...install, ...archives.map((name) => `./${name}`)], { cwd: folder })

    const npx = ['--no-install', 'catalog-gateway']
    const { stdout: version } = await run('npx', [...npx, '--version'], { cwd: folder })
    expect(archives).toContain(`catalog-gateway-${version.trim()}.tgz`)

    const dev = [...npx, 'dev', '--port', '0', '--admin-port', '0', '--api-key', 'key-of-the-developer']
    const program = startNode(dev, { folder, node: 'npx', ownGroup: true })
    const url = await program.announced(/^listening on (http:\S+)$/m)
    const response = await fetch(`${url}/v1/namespace/$/list`, {
      headers: { 'x-api-key': 'key-of-the-developer' },
    })
    expect(await response.json()).toEqual({ namespaces: [] })
    program.signal('SIGINT')
    // npx ends by the signal itself.
    expect(await program.ended).toMatchObject({ messages: withoutProblems })
  },
  10 * 60_000,
)
