import fc from 'fast-check'
import { expect, it } from 'vitest'
import { restoreDocument, toTransferable } from '../../src/console/playground/transferable-document.ts'
import { compilePolicies } from '../../src/policy/policy-set.ts'
import { parseDocuments } from '../policy/parse-documents.ts'
import { arbitraryPolicies, arbitraryRequest } from '../policy/policy-arbitraries.ts'

const requests = fc.array(arbitraryRequest, { minLength: 10, maxLength: 10 })

it('policies passed between threads decide alike', () => {
  fc.assert(
    fc.property(arbitraryPolicies, requests, (policies, requests) => {
      const documents = parseDocuments(policies)
      const passed = documents.map((document) => restoreDocument(structuredClone(toTransferable(document))))
      const [before, after] = [compilePolicies(documents), compilePolicies(passed)]
      expect(after.revision).toBe(before.revision)
      for (const request of requests) expect(after.decide(request)).toEqual(before.decide(request))
    }),
  )
})
