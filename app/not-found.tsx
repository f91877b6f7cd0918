import { NotFoundPage } from '@/components/frame/NotFoundPage';

export const metadata = { title: 'Not found' };

export default function NotFound() {
  return <NotFoundPage />;
}
