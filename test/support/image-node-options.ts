import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(new URL('../../Dockerfile', import.meta.url))

/** Returns the `NODE_OPTIONS` of the image. Throws if it sets none. */
export function readImageNodeOptions(): string {
  const [, options] = /^ENV NODE_OPTIONS=(.*)$/m.exec(readFileSync(file, 'utf8')) ?? []
  if (options === undefined) throw new Error(`expected NODE_OPTIONS in ${file}`)
  return options
}
