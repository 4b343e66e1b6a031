/** The kinds of histories that are made from seeds. */
import { makeApartHistory } from './make-apart-history.ts';
import { makeCalmHistory, makeHistory } from './make-history.ts';
import { makeMixedHistory } from './make-mixed-history.ts';
import { makeWarmHistory } from './make-warm-history.ts';
import { makeWideHistory } from './make-wide-history.ts';

export const KINDS = {
  wide: makeWideHistory,
  ordinary: makeHistory,
  calm: makeCalmHistory,
  warm: makeWarmHistory,
  apart: makeApartHistory,
  mixed: makeMixedHistory,
} as const;
export type Kind = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];
