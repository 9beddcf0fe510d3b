import { openAccessView, showAccess } from './access-view.js'
import { openSearch, showNewest } from './audit-view.js'
import { byId, timeOfDay } from './elements.js'
import { errorText, fetchJson } from './fetch-json.js'
import { openPlayground } from './playground-view.js'
import { showState, showStatus } from './state-views.js'

const pollIntervalMs = 2000
/**
 * When the gateway sent the shown data, by its own clock.
 * @type {Date | undefined}
 */
let newestAt
/** @type {string | undefined} */
let revision

openSearch()
openAccessView()
openPlayground()
void poll()

/**
 * Greys data that the gateway no longer updates, and says how old it is.
 * @param {boolean} isFresh
 */
function showFreshness(isFresh) {
  document.body.classList.toggle('stale', !isFresh)
  const stale = byId('stale')
  stale.toggleAttribute('hidden', isFresh || newestAt === undefined)
  if (newestAt !== undefined) stale.textContent = `as of ${timeOfDay(newestAt)}`
}

/** Polls while the page is visible. */
async function poll() {
  for (;;) {
    if (!document.hidden) await refresh()
    await new Promise((resolve) => setTimeout(resolve, pollIntervalMs))
  }
}

async function refresh() {
  try {
    const signal = AbortSignal.timeout(10_000)
    const { state, comparison, entries, seal } = await fetchJson('data', {}, { signal })
    showState(state, seal, comparison)
    showNewest(entries)
    showFreshness(true)
    newestAt = new Date(state.now)
    const hasChanged = revision !== undefined && revision !== state.policies.revision
    revision = state.policies.revision
    if (hasChanged) showAccess()
  } catch (error) {
    showStatus(`not reachable: ${errorText(error)}`, false)
    showFreshness(false)
  }
}
