import { hash as hashOf } from 'node:crypto'

// The Merkle tree of RFC 6962, section 2.1, over the hashes of records. Hashes are lower-case hex.

const hashBytes = 32
const hashPattern = /^[0-9a-f]{64}$/

/** What is hashed, put together in one place: the tree of a seal takes as many hashes as it has records, twice. */
const leafInput = Buffer.alloc(1 + hashBytes, 0)
const nodeInput = Buffer.alloc(1 + 2 * hashBytes, 1)

/** Adds up the root of a tree, leaf by leaf, in memory that grows with the logarithm of their number. */
export class MerkleRoot {
  /** At height h the root of a complete tree of 2^h leaves, where their number has that bit; left of those below. */
  readonly #roots: string[]
  #leaves: number

  /** The tree of no leaves, or a copy of one. */
  constructor(tree?: MerkleRoot) {
    this.#roots = tree === undefined ? [] : [...tree.#roots]
    this.#leaves = tree === undefined ? 0 : tree.#leaves
  }

  /** How many leaves there are. */
  get leaves(): number {
    return this.#leaves
  }

  add(hash: string): void {
    let root = leafHash(hash)
    let height = 0
    for (let left = this.#rootAt(0); left !== undefined; left = this.#rootAt(height)) {
      root = nodeHash(left, root)
      height += 1
    }
    this.#roots[height] = root
    this.#leaves += 1
  }

  /** The root over the leaves so far. */
  root(): string {
    let root: string | undefined
    for (let height = 0; height < this.#roots.length; height += 1) {
      const left = this.#rootAt(height)
      if (left !== undefined) root = root === undefined ? left : nodeHash(left, root)
    }
    return root ?? hashOf('sha256', '')
  }

  #rootAt(height: number): string | undefined {
    return (this.#leaves >> height) & 1 ? this.#roots[height] : undefined
  }
}

/** The audit paths of some leaves: with it and the leaf, anybody can compute the root. */
export function createMerklePaths(hashes: readonly string[], indices: readonly number[]): string[][] {
  const paths = indices.map((): string[] => [])
  let level = hashes.map(leafHash)
  let locations = [...indices]
  while (level.length > 1) {
    for (const [which, location] of locations.entries()) {
      const sibling = level[location ^ 1]
      if (sibling) paths[which]?.push(sibling)
    }
    level = parentLevel(level)
    locations = locations.map((location) => location >> 1)
  }
  return paths
}

/** The root that follows from a leaf, its place among so many leaves, and its audit path; undefined for no path. */
export function computeRootFromPath(
  hash: string,
  index: number,
  leaves: number,
  path: readonly string[],
): string | undefined {
  if (index < 0 || index >= leaves) return undefined
  let root = leafHash(hash)
  let used = 0
  let location = index
  for (let width = leaves; width > 1; width = (width + 1) >> 1) {
    if ((location ^ 1) < width) {
      const sibling = path[used++]
      if (sibling === undefined || !hashPattern.test(sibling)) return undefined
      root = location % 2 === 1 ? nodeHash(sibling, root) : nodeHash(root, sibling)
    }
    location >>= 1
  }
  return used === path.length ? root : undefined
}

/** The level above; a node without a sibling rises as it is. */
function parentLevel(level: readonly string[]): string[] {
  const above: string[] = []
  for (let at = 0; at < level.length; at += 2) {
    const [left, right] = [level[at], level[at + 1]]
    if (left) above.push(right ? nodeHash(left, right) : left)
  }
  return above
}

function leafHash(hash: string): string {
  leafInput.write(hash, 1, 'hex')
  return hashOf('sha256', leafInput)
}

function nodeHash(left: string, right: string): string {
  nodeInput.write(left, 1, 'hex')
  nodeInput.write(right, 1 + hashBytes, 'hex')
  return hashOf('sha256', nodeInput)
}
