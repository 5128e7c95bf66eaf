import { type ElicitUrlParams, ErrorCode, RpcError } from '@jackfield/sdk'
import { isRecord } from '../../shared/json.ts'

/** How many visits one error may ask for. */
const maxVisits = 8

/** The visits a server wants before it does what it was asked (2025-11-25); none where the error is another. */
export function wantedVisits(error: unknown): ElicitUrlParams[] {
  if (!(error instanceof RpcError) || error.code !== ErrorCode.UrlElicitationRequired) return []
  const asked = isRecord(error.data) ? error.data['elicitations'] : undefined
  if (!Array.isArray(asked) || asked.length > maxVisits) return []
  const visits = asked.flatMap((visit: unknown): ElicitUrlParams[] => {
    if (!isRecord(visit)) return []
    const { mode, message, url, elicitationId } = visit
    if (mode !== 'url' || typeof message !== 'string' || typeof url !== 'string') return []
    return [{ mode, message, url, ...(typeof elicitationId === 'string' && { elicitationId }) }]
  })
  // Trying again after a part of them would fail again.
  return visits.length === asked.length ? visits : []
}
