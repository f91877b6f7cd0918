'use client';

import { ErrorPage } from '@/components/frame/ErrorPage';

export default ErrorPage;
