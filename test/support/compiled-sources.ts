import { readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vitest/config'

const sources = fileURLToPath(new URL('../../src', import.meta.url))

/** The file that `npm run build` makes of a source; undefined for other files, such as tests. */
function findCompiled(path: string): string | undefined {
  const [, catalog, name] =
    /^(backend\/(?!test\/|dist\/|node_modules\/)|(?!backend\/|\.\.))([^.]+)\.ts$/.exec(
      relative(sources, path),
    ) ?? []
  return name && join(sources, catalog ? 'backend/dist' : '../dist', `${name}.js`)
}

/** The first source that has changed since `npm run build`, by its path in `src`. */
export function findStaleSource(): string | undefined {
  return readdirSync(sources, { recursive: true, encoding: 'utf8' }).find((name) => {
    const compiled = findCompiled(join(sources, name))
    const compiledAt = compiled && statSync(compiled, { throwIfNoEntry: false })?.mtimeMs
    return compiled !== undefined && !(Number(compiledAt) >= statSync(join(sources, name)).mtimeMs)
  })
}

/** Lets tests load the compiled sources, unless one of them has changed since: vitest would compile them once more. */
export function compiledSources(): Plugin | undefined {
  // `vitest run` alone ends before the sources change: a watching vitest and the mutation tests change them.
  if (!process.argv.includes('run') || findStaleSource() !== undefined) return undefined
  return {
    name: 'compiled-sources',
    enforce: 'pre',
    config: () => ({ test: { server: { deps: { external: [/\/dist\/[\w/-]+\.js$/] } } } }),
    async resolveId(source, importer) {
      const found = source.endsWith('.ts') && (await this.resolve(source, importer, { skipSelf: true }))
      return found ? findCompiled(found.id) : undefined
    },
  }
}
