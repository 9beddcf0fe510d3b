import { refusal, type CatalogError } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { apiPaths } from '../../catalog-api/operations.ts'
import { maxTargetLength, pathGrammar, queryGrammar } from '../../catalog-api/request-target.ts'
import { getCatalogPaths } from '../../config/index.ts'
import { getBasePath } from '../../lib/http/base-path.ts'

/** The paths of a pass-through route, none with a slash at its end. */
export interface PassThroughPaths {
  readonly prefix: string
  /** Replaces the prefix; may be empty. */
  readonly upstreamPath: string
  /** Paths of catalogs, folded. Nothing at or below them is forwarded. */
  readonly catalogPaths: readonly string[]
}

/**
 * Finds the paths of catalogs at the host of the upstream, on any port: a proxy may serve both. Those of the catalog API
 * are at every host, because one host may have several names.
 */
export function createPassThroughPaths(
  prefix: string,
  upstream: URL,
  catalogs: readonly URL[],
): PassThroughPaths {
  const atHost = catalogs.filter(({ hostname }) => hostname === upstream.hostname)
  const catalogPaths = [...apiPaths, ...atHost.flatMap(getCatalogPaths).map(fold)]
  return { prefix, upstreamPath: getBasePath(upstream), catalogPaths }
}

/** Matches the scheme and the authority of a target in absolute form (RFC 9112, 3.2.2). */
const authorityPart = /^[a-z]+:\/\/[^/?#]*/i

/** Whether a raw request target, in origin form or absolute form, is at or below the prefix. */
export function isBelowPrefix(target: string, prefix: string): boolean {
  const path = target.startsWith('/') ? target : target.replace(authorityPart, '')
  return path.startsWith(prefix) && (path.length === prefix.length || /^[/?]/.test(path.slice(prefix.length)))
}

/**
 * Characters of a decoded segment by which some servers divide a path or a request: separators, delimiters of path
 * parameters, the percent sign of a second encoding, and control characters.
 */
const unsafeCharacter = /[/\\;?#%\p{Cc}\p{Cf}]/u

/** One or two dots, and spellings that @fastify/http-proxy or other servers could take for them. */
const dotSegment = /^\.$|^\.\.|\.\.$/

/**
 * Returns the path at the upstream of a request target (origin form). Throws InvalidInput (400) for a target that some
 * server could read as another path, and PermissionDenied (403) for one that belongs to a catalog.
 */
export function toUpstreamPath(
  target: string,
  { prefix, upstreamPath, catalogPaths }: PassThroughPaths,
): string {
  if (target.length > maxTargetLength) {
    throw refusal('target_too_long', `the request target is longer than ${maxTargetLength} bytes`)
  }
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  if (!pathGrammar.test(path)) throw unsafeTarget(path, 'a character that must be percent-encoded')
  if (mark !== -1 && !queryGrammar.test(target.slice(mark + 1))) {
    throw refusal('malformed_target', 'the query contains a character that must be percent-encoded')
  }
  const segments = path.slice(1).split('/')
  for (const [index, segment] of segments.entries()) {
    if (segment === '' && index < segments.length - 1) throw unsafeTarget(path, 'an empty segment')
    assertPlain(segment, path)
  }
  const upstream = upstreamPath + path.slice(prefix.length) || '/'
  const folded = `${fold(upstream)}/`
  if (catalogPaths.some((catalog) => folded.startsWith(`${catalog}/`))) {
    throw refusal('denied', `the path ${quoteForMessage(path)} belongs to the catalog; use its own routes`)
  }
  return upstream
}

function assertPlain(segment: string, path: string): void {
  let decoded: string
  try {
    decoded = normalize(decodeURIComponent(segment))
  } catch {
    throw unsafeTarget(path, 'an encoded text that is not UTF-8')
  }
  if (unsafeCharacter.test(decoded)) throw unsafeTarget(path, 'a character that servers read differently')
  if (decoded !== decoded.trim()) throw unsafeTarget(path, 'a segment with a space at its end')
  if (dotSegment.test(decoded)) throw unsafeTarget(path, 'a dot segment')
}

/** Compatible characters are equal: some servers read a fullwidth slash as a slash. */
function normalize(text: string): string {
  return text.normalize('NFKC')
}

/** Upper case first: the long s becomes s, as it does for readers that fold by Unicode. */
function fold(path: string): string {
  return normalize(decodeURIComponent(path)).toUpperCase().toLowerCase()
}

function unsafeTarget(path: string, found: string): CatalogError {
  return refusal('malformed_target', `the path ${quoteForMessage(path)} contains ${found}`)
}
