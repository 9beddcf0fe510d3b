import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'

/** The segments of one chain, in order. */
export interface ChainSegments {
  readonly chain: string
  /** The place of the chain among the chains of the folder; larger is newer, whatever the clock says. */
  readonly ordinal: number
  readonly segments: readonly string[]
}

const segmentNamePattern = /^((\d{8,})-[0-9a-f]{12})-(\d{4,})\.jsonl$/

/** The id of a new chain: its ordinal, so that names sort by age, and a random part that makes it unique. */
export function createChainId(ordinal: number): string {
  return `${String(ordinal).padStart(8, '0')}-${randomBytes(6).toString('hex')}`
}

/** The name of the file of a segment; `index` counts from 0 in the chain. */
export function formatSegmentName(chain: string, index: number): string {
  return `${chain}-${String(index).padStart(4, '0')}.jsonl`
}

/** What the name of a segment says; undefined for another file. */
export function parseSegmentName(
  file: string,
): { readonly chain: string; readonly ordinal: number; readonly index: number } | undefined {
  const [, chain, ordinal, index] = segmentNamePattern.exec(file) ?? []
  return chain === undefined ? undefined : { chain, ordinal: Number(ordinal), index: Number(index) }
}

/** The chains of a folder, oldest first. Other files are passed over. */
export async function listChains(folder: string): Promise<ChainSegments[]> {
  const chains = new Map<string, { ordinal: number; segments: { file: string; index: number }[] }>()
  for (const file of await readdir(folder)) {
    const name = parseSegmentName(file)
    if (name === undefined) continue
    const { chain, ordinal, index } = name
    const entry = chains.get(chain) ?? { ordinal, segments: [] }
    entry.segments.push({ file, index })
    chains.set(chain, entry)
  }
  return [...chains]
    .map(([chain, { ordinal, segments }]) => ({
      chain,
      ordinal,
      segments: segments.toSorted((a, b) => a.index - b.index).map(({ file }) => file),
    }))
    .toSorted((a, b) => a.ordinal - b.ordinal || (a.chain < b.chain ? -1 : 1))
}
