import type { Airport } from './places.ts'

const earthRadiusKm = 6371

/** Kilometres between two airports along the great circle. */
export function distanceKm(from: Airport, to: Airport): number {
  const lat1 = radians(from.lat)
  const lat2 = radians(to.lat)
  const dLat = lat2 - lat1
  const dLon = radians(to.lon - from.lon)
  const h = Math.sin(dLat / 2) ** 2 + Math.cos(lat1) * Math.cos(lat2) * Math.sin(dLon / 2) ** 2
  return 2 * earthRadiusKm * Math.asin(Math.min(1, Math.sqrt(h)))
}

/** Minutes from gate to gate: taxi, climb and cruise, quicker with the westerlies behind than against them. */
export function flightMinutes(from: Airport, to: Airport): number {
  const cruiseKmh = 860 + 55 * eastward(from, to)
  const minutes = 35 + (distanceKm(from, to) / cruiseKmh) * 60
  return Math.round(minutes / 5) * 5
}

/** 1 for a flight that sets out due east, -1 for due west. */
function eastward(from: Airport, to: Airport): number {
  const lat1 = radians(from.lat)
  const lat2 = radians(to.lat)
  const dLon = radians(to.lon - from.lon)
  const y = Math.sin(dLon) * Math.cos(lat2)
  const x = Math.cos(lat1) * Math.sin(lat2) - Math.sin(lat1) * Math.cos(lat2) * Math.cos(dLon)
  return Math.sin(Math.atan2(y, x))
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180
}
