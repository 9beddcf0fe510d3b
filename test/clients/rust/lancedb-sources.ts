import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const fetchMs = 120_000

/** The sources of a version of the crate `lancedb`, which LanceDB's clients for Python and JavaScript contain, too. */
export interface LancedbSources {
  readonly version: string
  readonly folder: string
}

/** Downloads the newest version that cargo finds, without its dependencies. Rejects if that is not possible. */
export async function fetchLancedbSources(): Promise<LancedbSources> {
  // Outside of any workspace, whose lock file would choose the version.
  const { stdout } = await run('cargo', ['info', '--quiet', 'lancedb'], { cwd: tmpdir(), timeout: fetchMs })
  const version = /^version: (\S+)/m.exec(stdout)?.[1]
  if (version === undefined) throw new Error('cargo info names no version of lancedb')
  const registries = join(process.env['CARGO_HOME'] ?? join(homedir(), '.cargo'), 'registry', 'src')
  for (const registry of await readdir(registries)) {
    const folder = join(registries, registry, `lancedb-${version}`)
    if (await readdir(join(folder, 'src', 'remote')).catch(() => undefined)) return { version, folder }
  }
  throw new Error(`cargo did not unpack lancedb ${version}`)
}

/** A function of the sources, or the text between functions, with the parts of requests that it writes. */
export interface SentBy {
  /** `table.rs: flush_rte`. */
  readonly where: string
  /** `/v1/table/{}/flush_rte`: each value that is formatted into it is `{}`. */
  readonly routes: readonly string[]
  /** Members of JSON bodies. */
  readonly members: readonly string[]
  readonly parameters: readonly string[]
  readonly headers: readonly string[]
  /** What the client does from a version of the server on: `multipart_write 0.4.0`. */
  readonly features: readonly string[]
}

/** Reads what the remote client puts into requests, as far as the text of the sources says it. */
export async function readRequests({ folder }: LancedbSources): Promise<readonly SentBy[]> {
  const remote = join(folder, 'src', 'remote')
  // SQL speaks the protocol of Arrow Flight, and the cache of tokens is a file.
  const files = (await readdir(remote, { recursive: true })).filter((file) =>
    /^(?!sql|token_cache).*\.rs$/.test(file),
  )
  const texts = await Promise.all(
    files.toSorted().map(async (file) => [file, await readFile(join(remote, file), 'utf8')] as const),
  )
  return texts.flatMap(([file, text]) => readParts(file, withoutTests(text)))
}

function withoutTests(text: string): string {
  const start = text.search(/^#\[cfg\(test\)\]\s+(?:pub(?:\(\w+\))? )?mod \w+/m)
  return (start === -1 ? text : text.slice(0, start)).replaceAll(/^\s*\/\/.*$/gm, '')
}

function readParts(file: string, text: string): readonly SentBy[] {
  const keys = new Map(
    findAll(text, /const (\w+): &str = "(\w+)"/g).map(([, name = '', value = '']) => [name, value]),
  )
  // The values of a placeholder at the end of a path: arguments of calls in the same file.
  const endings = findAll(text, /self\s*\.(?:read|post)\("([\w/]+)"/g).map(([, ending = '']) => ending)
  return text.split(/^(?=\s*(?:pub(?:\([\w:]+\))? )?(?:async )?fn \w+)/m).map((part): SentBy => {
    const name = /^\s*(?:pub(?:\([\w:]+\))? )?(?:async )?fn (\w+)/.exec(part)?.[1] ?? 'types'
    const routes = findAll(part, /"(\/(?:v1|admin)\/[^"\s]*)"/g).flatMap(([, path = '']) => {
      const route = path.replaceAll(/\{\w*\}/g, '{}').replace(/(?<=.)\/$/, '')
      return route.startsWith('/admin/') && route.endsWith('{}')
        ? endings.map((ending) => route.slice(0, -2) + ending)
        : [route]
    })
    const literals = findAll(part, /json!\(\{[\s\S]*?\}\)/g).map(([literal]) => literal)
    const members = [
      ...literals.flatMap((literal) => findAll(literal, /"(\w+)"\s*:/g).map(([, member = '']) => member)),
      ...findAll(part, /\b\w+\["(\w+)"\] = /g).map(([, member = '']) => member),
      ...findAll(part, /\bbody\[([A-Z_]+)\]/g).map(([, key = '']) => keys.get(key) ?? key),
      ...findAll(
        part,
        /derive\([^)]*\bSerialize\b[^)]*\)\][^{;]*?struct \w+(?:<[^>]*>)? \{([\s\S]*?)\n\s*\}/g,
      ).flatMap(([, fields = '']) => readFields(fields)),
    ]
    const parameters = findAll(part, /\.query\(&\[\(\s*"(\w+)"/g).map(([, parameter = '']) => parameter)
    const headers = findAll(part, /"(x-[a-z\d-]+|[a-z]+-version)"/gi).map(([, header = '']) =>
      header.toLowerCase(),
    )
    const features = findAll(part, /fn support_(\w+)[^}]*Version::new\((\d+), (\d+), (\d+)\)/g).map(
      ([, feature = '', ...version]) => `${feature} ${version.join('.')}`,
    )
    return { where: `${file}: ${name}`, routes, members, parameters, headers, features }
  })
}

/** The names of the fields of a struct as they are serialized. */
function readFields(text: string): readonly string[] {
  return findAll(text, /((?:#\[[^\]]*\]\s*)*)(?:pub(?:\([\w:]+\))? )?(\w+): /g).flatMap(
    ([, attributes = '', name = '']) =>
      /\bskip_serializing\b(?!_if)|serde\(skip\)/.test(attributes)
        ? []
        : [/rename = "(\w+)"/.exec(attributes)?.[1] ?? name],
  )
}

function findAll(text: string, pattern: RegExp): readonly RegExpExecArray[] {
  return [...text.matchAll(pattern)]
}
