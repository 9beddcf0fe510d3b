import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MerkleRoot, createMerklePaths, computeRootFromPath } from '../../../src/audit/records/merkle.ts'

const digest = (...parts: readonly (string | Buffer)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

/** Literal implementation of RFC 6962, section 2.1. */
function slowRoot(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return digest()
  if (leaves.length === 1) return digest('\0', leaves[0] ?? '')
  let split = 1
  while (2 * split < leaves.length) split *= 2
  return digest('\u0001', slowRoot(leaves.slice(0, split)), slowRoot(leaves.slice(split)))
}

const hashesOf = (count: number) => Array.from({ length: count }, (_, index) => digest(`leaf ${index}`))
const rootOf = (hashes: readonly string[]): string => {
  const tree = new MerkleRoot()
  for (const hash of hashes) tree.add(hash)
  return tree.root()
}

it('computes the root of RFC 6962 for any number of leaves', () => {
  for (let count = 0; count <= 130; count += 1) {
    const leaves = hashesOf(count)
    expect(rootOf(leaves.map((leaf) => leaf.toString('hex')))).toBe(slowRoot(leaves).toString('hex'))
  }
})

it('only the path of the leaf itself leads to the root', () => {
  for (let count = 1; count <= 40; count += 1) {
    const hashes = hashesOf(count).map((leaf) => leaf.toString('hex'))
    const indices = hashes.map((_, index) => index)
    const root = rootOf(hashes)
    for (const [index, path] of createMerklePaths(hashes, indices).entries()) {
      const lead = (hash: string, at: number) => computeRootFromPath(hash, at, count, path)
      expect(lead(hashes[index] ?? '', index)).toBe(root)
      expect(lead('00'.repeat(32), index)).not.toBe(root)
      for (const other of [-1, index + 1, count]) expect(lead(hashes[index] ?? '', other)).not.toBe(root)
      expect(computeRootFromPath(hashes[index] ?? '', index, count, [...path, root])).toBeUndefined()
    }
  }
})

it('a changed path does not lead to the root', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 300 }), fc.nat(), fc.nat(), (count, which, bit) => {
      const hashes = hashesOf(count).map((leaf) => leaf.toString('hex'))
      const index = which % count
      const [path = []] = createMerklePaths(hashes, [index])
      const changed = path.map((hash) => Buffer.from(hash, 'hex'))
      const at = bit % (changed.length * 256)
      const node = changed[at >> 8]
      if (node) node[(at & 255) >> 3] = (node[(at & 255) >> 3] ?? 0) ^ (1 << (at & 7))
      const bad = changed.map((node) => node.toString('hex'))
      expect(computeRootFromPath(hashes[index] ?? '', index, count, path)).toBe(rootOf(hashes))
      expect(computeRootFromPath(hashes[index] ?? '', index, count, bad)).not.toBe(rootOf(hashes))
    }),
    { numRuns: 50 },
  )
})

it('rejects a path with an invalid hash', () => {
  const hashes = hashesOf(3).map((leaf) => leaf.toString('hex'))
  const [[first = '', ...rest] = []] = createMerklePaths(hashes, [0])
  for (const bad of ['', first.slice(0, -1), `${first}0`, first.toUpperCase(), `${first.slice(0, -1)}g`]) {
    expect(computeRootFromPath(hashes[0] ?? '', 0, 3, [bad, ...rest])).toBeUndefined()
  }
})

it('a copy of a tree is independent of the original', () => {
  const hashes = hashesOf(40).map((leaf) => leaf.toString('hex'))
  for (let count = 0; count < hashes.length; count += 1) {
    const tree = new MerkleRoot()
    for (const hash of hashes.slice(0, count)) tree.add(hash)
    const copy = new MerkleRoot(tree)
    for (const hash of hashes.slice(count)) copy.add(hash)
    expect([copy.root(), copy.leaves]).toEqual([rootOf(hashes), hashes.length])
    expect([tree.root(), tree.leaves]).toEqual([rootOf(hashes.slice(0, count)), count])
  }
})
